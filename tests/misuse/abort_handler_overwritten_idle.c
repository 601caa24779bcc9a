// expect: acre: a list of free blocks was overwritten
// expect: the handler is done
// What a thread that sleeps has freed is looked at by another one, with the lock on the list of heaps held.
#include "abort_handler.h"

#include <stdatomic.h>
#include <time.h>

enum { kBlocks = 40000, kInCurrentRun = 2000 };

static void *blocks[kBlocks];
static _Atomic int freed;

static void *free_some_and_sleep(void *unused) {
    for (int i = 0; i < kBlocks; i++) blocks[i] = must_malloc(64);
    for (int i = 0; i < kBlocks; i += 2) free(blocks[i]);
    atomic_store(&freed, 1);
    for (;;) pause();
    return unused;
}

int main(void) {
    handle_abort();
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, free_some_and_sleep, NULL), 0);
    while (!atomic_load(&freed)) usleep(1000);
    for (int i = 0; i < kBlocks - kInCurrentRun; i += 2) memset(hide(blocks[i]), 'x', 16);
    // Ticks, for some seconds.
    for (int i = 0; i < 10000; i++) {
        void *some[200];
        for (int j = 0; j < 200; j++) some[j] = must_malloc(3000);
        for (int j = 0; j < 200; j++) free(some[j]);
        usleep(500);
    }
    return survived();
}
