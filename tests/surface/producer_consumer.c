// acre-test: libs=pthread
// One thread allocates, another frees, millions of times: what is freed there is used again here.
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { kRing = 4096, kBlocks = 4000000, kPairs = 2 };

struct Pair {
    _Atomic(void *) ring[kRing];
    uint64_t seed;
};

static struct Pair pairs[kPairs];

static void *produce(void *argument) {
    struct Pair *pair = (struct Pair *)argument;
    uint64_t random = pair->seed;
    for (int i = 0; i < kBlocks / kPairs; i++) {
        const size_t size = 16 + random_below(&random, i % 64 == 0 ? 30000 : 500);
        size_t *block = (size_t *)must_malloc(size);
        block[0] = size;
        ((unsigned char *)block)[size - 1] = (unsigned char)size;
        _Atomic(void *) *slot = &pair->ring[i % kRing];
        while (atomic_load_explicit(slot, memory_order_relaxed) != NULL) sched_yield();
        atomic_store_explicit(slot, block, memory_order_release);
    }
    return NULL;
}

static void *consume(void *argument) {
    struct Pair *pair = (struct Pair *)argument;
    for (int i = 0; i < kBlocks / kPairs; i++) {
        _Atomic(void *) *slot = &pair->ring[i % kRing];
        size_t *block;
        while ((block = (size_t *)atomic_load_explicit(slot, memory_order_acquire)) == NULL) {
            sched_yield();
        }
        atomic_store_explicit(slot, NULL, memory_order_release);
        const size_t size = block[0];
        CHECK(size >= 16 && size < 30100);
        if (size > 16) CHECK_EQ(((unsigned char *)block)[size - 1], (unsigned char)size);
        free(block);
    }
    return NULL;
}

int main(void) {
    without_huge_pages();
    memset(pairs, 0, sizeof pairs);
    const size_t before = resident_bytes();
    size_t first_round = 0;
    for (int round = 0; round < 3; round++) {
        pthread_t producers[kPairs], consumers[kPairs];
        for (int i = 0; i < kPairs; i++) {
            pairs[i].seed = (uint64_t)(round * kPairs + i + 1);
            CHECK_EQ(pthread_create(&consumers[i], NULL, consume, &pairs[i]), 0);
            CHECK_EQ(pthread_create(&producers[i], NULL, produce, &pairs[i]), 0);
        }
        for (int i = 0; i < kPairs; i++) {
            CHECK_EQ(pthread_join(producers[i], NULL), 0);
            CHECK_EQ(pthread_join(consumers[i], NULL), 0);
        }
        if (round == 0) first_round = resident_bytes();
    }
    // At most 2 x 4096 blocks of 730 bytes on average are alive at once, 6 MB; 8.6 GB went through.
    CHECK_LE(first_round, before + 64 * MIB);
    CHECK_LE(resident_bytes(), first_round + 16 * MIB);
    return 0;
}
