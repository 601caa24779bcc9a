// Threads that hold a block until the program ends.
#pragma once

#include "support.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static sem_t ready;  // the newest thread has its block

static void *wait_with_block(void *unused) {
    void *volatile own = malloc(100);
    sem_post(&ready);
    pause();
    free(own);
    return unused;
}

// Starts a thread in this function, which posts `ready`, and returns once it has. stack: null, or the thread's memory.
static void begin_waiting(void *(*function)(void *), void *stack, size_t bytes) {
    pthread_t thread;
    pthread_attr_t attributes;
    sem_init(&ready, 0, 0);
    pthread_attr_init(&attributes);
    if (stack != NULL) pthread_attr_setstack(&attributes, stack, bytes);
    if (pthread_create(&thread, &attributes, function, NULL) != 0) exit(1);
    sem_wait(&ready);
}
