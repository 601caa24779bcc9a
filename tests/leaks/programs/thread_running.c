// A thread that runs on while the program ends, and what its stack, its registers and its variables lead to.
// leaks normal: none
// leaks strict: none
#include "support.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static sem_t ready;

static void *wait_with_block(void *unused) {
    void *volatile own = malloc(100);
    sem_post(&ready);
    pause();
    free(own);
    return unused;
}

// Turns with its block in a register alone.
static void *turn_with_block(void *unused) {
    void *block = malloc(200);
    wipe();
    sem_post(&ready);
#if defined(__x86_64__)
    __asm__ volatile("mov %0, %%rbx\n movq $0, %0\n 1: jmp 1b" : "+m"(block) : : "rbx");
#else
    for (;;) __asm__ volatile("" : "+r"(block));
#endif
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&ready, 0, 0);
    pthread_create(&thread, NULL, wait_with_block, NULL);
    pthread_create(&thread, NULL, turn_with_block, NULL);
    sem_wait(&ready);
    sem_wait(&ready);
    usleep(20000);
    return 0;
}
