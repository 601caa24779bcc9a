// acre-test: not-preload
// How much larger than asked for live blocks are: exact for large blocks, by a sample of requests for small ones.
#include "check.h"

#include <acre/acre.h>
#include <stdint.h>

static uint64_t stat(const char *name) {
    uint64_t epoch = 1;
    CHECK_EQ(acre_mallctl("epoch", NULL, NULL, &epoch, sizeof epoch), 0);
    size_t figure, size = sizeof figure;
    CHECK_EQ(acre_mallctl(name, &figure, &size, NULL, 0), 0);
    return figure;
}

// What the figure is larger by than before, against what it should be.
static void check_grown(const char *name, uint64_t before, uint64_t wanted, unsigned per_cent) {
    const uint64_t grown = stat(name) - before;
    const uint64_t most = wanted * per_cent / 100;
    CHECK_AT(grown + most >= wanted && grown <= wanted + most, grown);
}

static void large_blocks(void) {
    const uint64_t before = stat("stats.rounding");
    const uint64_t requested = stat("stats.requested");
    void *large = must_malloc(100000);  // 25 pages
    check_grown("stats.rounding", before, 25 * 4096 - 100000, 0);
    check_grown("stats.requested", requested, 100000, 0);
    large = hide(realloc(large, 102000));  // the same pages
    check_grown("stats.rounding", before, 25 * 4096 - 102000, 0);
    large = hide(realloc(large, 200000));  // 49 pages
    check_grown("stats.rounding", before, 49 * 4096 - 200000, 0);
    large = hide(realloc(large, 4096 * 10));
    check_grown("stats.rounding", before, 0, 0);
    void *huge = must_malloc(100 * MIB + 1);
    check_grown("stats.rounding", before, 4095, 0);
    huge = hide(realloc(huge, 100 * MIB + 4001));
    check_grown("stats.rounding", before, 95, 0);
    void *aligned = NULL;
    CHECK_EQ(posix_memalign(&aligned, 8192, 50000), 0);
    check_grown("stats.rounding", before, 95 + 13 * 4096 - 50000, 0);
    free(aligned);
    free(large);
    free(huge);
    check_grown("stats.rounding", before, 0, 0);
}

enum { kBlocks = 50000 };
static void *blocks[kBlocks];

// All of one size that nothing else in the process has.
static void one_size(void) {
    const uint64_t before = stat("stats.rounding");
    for (size_t i = 0; i < kBlocks; i++) blocks[i] = must_malloc(1300);  // class of 1408
    check_grown("stats.rounding", before, (uint64_t)kBlocks * 108, 1);
    for (size_t i = 0; i < kBlocks; i++) free(blocks[i]);
    check_grown("stats.rounding", before, 0, 1);
}

// Sizes at random, more of the small ones than an even spread has.
static void many_sizes(void) {
    const uint64_t before = stat("stats.rounding");
    uint64_t rounding = 0;
    uint32_t seed = 1;
    for (size_t i = 0; i < kBlocks; i++) {
        seed = seed * 1664525 + 1013904223;
        const size_t size = (seed >> 16) % 4 == 0 ? 2560 : 2305 + (seed >> 20) % 64;  // class of 2560
        rounding += 2560 - size;
        blocks[i] = must_malloc(size);
    }
    check_grown("stats.rounding", before, rounding, 10);
    for (size_t i = 0; i < kBlocks; i++) free(blocks[i]);
}

int main(void) {
    large_blocks();
    one_size();
    many_sizes();
    return 0;
}
