// realloc keeps the contents from every size to every other: small, large and huge, up and down.
#include "check.h"

#include <malloc.h>

static const size_t kSizes[] = {1,     7,      8,      9,      16,      17,      48,       100,
                                128,   129,    500,    1000,   1024,    1025,    4000,     4096,
                                4097,  14000,  16384,  20000,  32767,   32768,   32769,    40000,
                                65536, 65537,  100000, 200000, 262144,  500000,  1 << 20,  (1 << 20) + 1,
                                2 << 20, 3000000, 4 << 20, 5 << 20, 8 << 20, 17 << 20, 33 << 20, 70 << 20};
enum { kCount = sizeof kSizes / sizeof kSizes[0] };

// Looks at the edges of a big block and at samples within, at the whole of a small one.
static void mark(unsigned char *block, size_t size, uint64_t tag) {
    const size_t step = size <= 70000 ? 1 : 509;
    for (size_t i = 0; i < size; i += step) block[i] = pattern_byte(i, tag);
    block[size - 1] = pattern_byte(size - 1, tag);
}

static void check_marks(const unsigned char *block, size_t written, size_t kept, uint64_t tag) {
    const size_t step = written <= 70000 ? 1 : 509;
    for (size_t i = 0; i < kept; i += step) CHECK_AT(block[i] == pattern_byte(i, tag), i);
    if (kept == written) CHECK_EQ(block[kept - 1], pattern_byte(kept - 1, tag));
}

static void from_to(size_t from, size_t to, uint64_t tag) {
    unsigned char *block = (unsigned char *)must_malloc(from);
    // Something behind the block, so that it cannot always grow in place.
    void *behind = tag % 2 ? must_malloc(from) : NULL;
    mark(block, from, tag);
    unsigned char *moved = (unsigned char *)hide(realloc(block, hide_size(to)));
    CHECK(moved != NULL);
    CHECK_GE(malloc_usable_size(moved), to);
    check_marks(moved, from, from < to ? from : to, tag);
    mark(moved, to, tag + 1);
    check_marks(moved, to, to, tag + 1);
    free(moved);
    free(behind);
}

int main(void) {
    for (int i = 0; i < kCount; i++) {
        for (int j = 0; j < kCount; j++) {
            // The biggest with all small ones is enough; with each other they take long.
            if (kSizes[i] + kSizes[j] > 80 * MIB) continue;
            if (kSizes[i] >= 16 * MIB && j % 3 != 0) continue;
            if (kSizes[j] >= 16 * MIB && i % 3 != 0) continue;
            from_to(kSizes[i], kSizes[j], (uint64_t)(i * kCount + j));
        }
    }
    from_to(33 << 20, 70 << 20, 1);
    from_to(70 << 20, 33 << 20, 2);

    // One byte at a time over several class borders.
    unsigned char *grown = NULL;
    for (size_t size = 1; size <= 40000; size++) {
        grown = (unsigned char *)hide(realloc(grown, hide_size(size)));
        CHECK(grown != NULL);
        grown[size - 1] = pattern_byte(size - 1, 9);
        if (size % 4000 == 0) CHECK_EQ(pattern_length(grown, size, 9), size);
    }
    for (size_t size = 40000; size >= 1; size -= size > 200 ? 97 : 1) {
        grown = (unsigned char *)hide(realloc(grown, hide_size(size)));
        CHECK(grown != NULL);
        if (size % 10 == 0) CHECK_EQ(pattern_length(grown, size, 9), size);
    }
    free(grown);

    // A random walk of many blocks at once.
    enum { kWalkers = 64 };
    static struct { unsigned char *block; size_t size; uint64_t tag; } walkers[kWalkers];
    uint64_t random = 12345;
    for (int step = 0; step < 30000; step++) {
        const int w = (int)random_below(&random, kWalkers);
        const size_t limit = (size_t)1 << (4 + random_below(&random, 15));
        const size_t size = 1 + random_below(&random, limit);
        walkers[w].block = (unsigned char *)hide(realloc(walkers[w].block, hide_size(size)));
        CHECK(walkers[w].block != NULL);
        const size_t kept = size < walkers[w].size ? size : walkers[w].size;
        CHECK_EQ(pattern_length(walkers[w].block, kept, walkers[w].tag), kept);
        walkers[w].size = size;
        walkers[w].tag = next_random(&random);
        fill_pattern(walkers[w].block, size, walkers[w].tag);
    }
    for (int w = 0; w < kWalkers; w++) free(walkers[w].block);
    return 0;
}
