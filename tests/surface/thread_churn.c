// acre-test: libs=pthread
// Twenty thousand short-lived threads that hand blocks to each other: contents hold, and dead
// threads leave no memory behind.
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

enum { kThreads = 20000, kAtOnce = 8, kSlots = 1024, kBlocks = 30 };

struct Block {
    size_t size;
    uint64_t tag;
};

static _Atomic(struct Block *) slots[kSlots];

static void check_and_free(struct Block *block) {
    if (block == NULL) return;
    CHECK_EQ(pattern_length(block + 1, block->size, block->tag), block->size);
    free(block);
}

static void *run(void *argument) {
    uint64_t random = (uint64_t)(uintptr_t)argument;
    for (int i = 0; i < kBlocks; i++) {
        const size_t size = random_below(&random, (size_t)1 << (4 + random_below(&random, 10)));
        struct Block *block = (struct Block *)must_malloc(sizeof *block + size);
        block->size = size;
        block->tag = next_random(&random);
        fill_pattern(block + 1, size, block->tag);
        check_and_free(atomic_exchange(&slots[random_below(&random, kSlots)], block));
    }
    return NULL;
}

int main(void) {
    pthread_t threads[kAtOnce];
    size_t warm = 0;
    for (int i = 0; i < kThreads; i += kAtOnce) {
        for (int t = 0; t < kAtOnce; t++) {
            CHECK_EQ(pthread_create(&threads[t], NULL, run, (void *)(uintptr_t)(i + t + 1)), 0);
        }
        for (int t = 0; t < kAtOnce; t++) CHECK_EQ(pthread_join(threads[t], NULL), 0);
        if (i == kThreads / 10) warm = resident_bytes();
    }
    CHECK_LE(resident_bytes(), warm + 16 * MIB);
    for (int i = 0; i < kSlots; i++) check_and_free(atomic_exchange(&slots[i], NULL));
    return 0;
}
