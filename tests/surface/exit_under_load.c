// acre-test: libs=pthread
// The process exits while detached threads still allocate and free.
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

enum { kThreads = 4, kExits = 100 };

static _Atomic long operations;
static _Atomic(void *) slots[64];

static void *work_forever(void *argument) {
    uint64_t random = (uint64_t)(uintptr_t)argument;
    for (;;) {
        const size_t size = 1 + random_below(&random, (size_t)1 << (3 + random_below(&random, 14)));
        char *block = (char *)must_malloc(size);
        block[0] = block[size - 1] = 1;
        free(atomic_exchange(&slots[random_below(&random, 64)], block));
        atomic_fetch_add(&operations, 1);
    }
    return NULL;
}

static void late(void) {
    for (size_t i = 1; i < 200; i++) {
        char *block = (char *)must_malloc(i * 100);
        block[i] = 1;
        free(block);
    }
}

int main(void) {
    for (int i = 0; i < kExits; i++) {
        const pid_t child = fork();
        if (child == 0) {
            atexit(late);
            pthread_attr_t attributes;
            pthread_attr_init(&attributes);
            pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
            for (int t = 1; t <= kThreads; t++) {
                pthread_t thread;
                CHECK_EQ(pthread_create(&thread, &attributes, work_forever,
                                        (void *)(uintptr_t)(t + i * 10)), 0);
            }
            while (atomic_load(&operations) < 2000) late();
            if (i % 2) return 3;
            exit(3);
        }
        check_child(child, 3);
    }
    return 0;
}
