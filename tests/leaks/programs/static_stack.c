// A thread whose stack is static memory, below which lie other variables.
// leaks normal: none
#include "support.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

enum { kStackBytes = 1 << 17 };

static struct {
    void *volatile below;
    char stack[kStackBytes] __attribute__((aligned(4096)));
} memory;
static sem_t ready;

static void *wait_on_stack(void *unused) {
    void *volatile own = malloc(200);
    sem_post(&ready);
    pause();
    free(own);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    LOSE(memory.below = malloc(100));
    sem_init(&ready, 0, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, memory.stack, sizeof memory.stack);
    if (pthread_create(&thread, &attributes, wait_on_stack, NULL) != 0) return 1;
    sem_wait(&ready);
    return 0;
}
