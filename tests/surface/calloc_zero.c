// calloc is zero also where memory was dirtied and freed before, in every class and mixed.
#include "check.h"

#include <malloc.h>

enum { kBatch = 48 };

static void dirty_then_zero(size_t size, int count) {
    void *blocks[kBatch];
    for (int i = 0; i < count; i++) {
        blocks[i] = must_malloc(size);
        memset(blocks[i], 0xa5, malloc_usable_size(blocks[i]));
    }
    for (int i = 0; i < count; i++) free(blocks[i]);
    for (int i = 0; i < count; i++) {
        blocks[i] = hide(calloc(1, hide_size(size)));
        CHECK(blocks[i] != NULL);
        CHECK_AT(all_bytes_are(blocks[i], size, 0), size);
        memset(blocks[i], 0x5a, malloc_usable_size(blocks[i]));
    }
    for (int i = 0; i < count; i++) free(blocks[i]);
}

int main(void) {
    for (size_t size = 1; size <= 70000; size += size / 40 + 1) dirty_then_zero(size, kBatch);
    for (size_t size = 70000; size <= 8 * MIB; size += size / 3) dirty_then_zero(size, 4);
    for (size_t size = 8 * MIB; size <= 300 * MIB; size *= 3) dirty_then_zero(size, 2);

    // Dirty memory changes hands between classes: free all of one, take it as another.
    enum { kBlocks = 3000 };
    static void *blocks[kBlocks];
    const size_t sizes[] = {64, 5000, 200, 40000, 16, 1000, 24000, 300000, 8, 4096};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const size_t size = sizes[s];
        const int count = size > 20000 ? kBlocks / 20 : kBlocks;
        for (int i = 0; i < count; i++) {
            blocks[i] = hide(calloc(hide_size(size), 1));
            CHECK(blocks[i] != NULL);
            CHECK_AT(all_bytes_are(blocks[i], size, 0), size);
            memset(blocks[i], 0xff, size);
        }
        for (int i = 0; i < count; i++) free(blocks[i]);
        if (s % 3 == 1) malloc_trim(0);
    }

    // A random mix: calloc among mallocs whose blocks are dirty all the time.
    enum { kSlots = 500 };
    static void *slots[kSlots];
    uint64_t random = 99;
    for (int step = 0; step < 60000; step++) {
        const int slot = (int)random_below(&random, kSlots);
        const size_t size = 1 + random_below(&random, (size_t)1 << (3 + random_below(&random, 15)));
        free(slots[slot]);
        if (next_random(&random) % 2) {
            slots[slot] = hide(calloc(1, hide_size(size)));
            CHECK(slots[slot] != NULL);
            CHECK_AT(all_bytes_are(slots[slot], size, 0), size);
        } else {
            slots[slot] = must_malloc(size);
        }
        memset(slots[slot], 0x77, malloc_usable_size(slots[slot]));
    }
    for (int i = 0; i < kSlots; i++) free(slots[i]);
    return 0;
}
