// A stack behind a guard of the kernel's, in a mapping with other memory below: that is a root, and what is on the stack
// below the stack pointer is not.
// leaks normal: 1 lose
#include "support.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kBytes = 1 << 20, kInstallGuard = 102 };  // MADV_GUARD_INSTALL, since Linux 6.13

static sem_t ready;

static NOINLINE void lose(void) {
    volatile char frame[100000];
    *(void *volatile *)((uintptr_t)(frame + 1000) & ~(uintptr_t)15) = malloc(100);
}
static void *wait_on_stack(void *unused) {
    lose();
    wipe();
    void *volatile own = malloc(200);
    sem_post(&ready);
    pause();
    free(own);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    char *memory = mmap(NULL, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory + kBytes - 65536, 65536, kInstallGuard) != 0) return 77;
    LOSE(*(void *volatile *)memory = malloc(300));
    sem_init(&ready, 0, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, memory + kBytes, kBytes);
    if (pthread_create(&thread, &attributes, wait_on_stack, NULL) != 0) return 1;
    sem_wait(&ready);
    return 0;
}
