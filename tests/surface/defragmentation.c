// acre-test: not-preload
// acre/je/jemalloc/jemalloc.h, jemalloc's header for builds of Redis and Valkey: what these servers check when they
// start, and how they move blocks together, Redis by hints, Valkey by figures.
#include "check.h"

#include <acre/je/jemalloc/jemalloc.h>

#if JEMALLOC_VERSION_MAJOR != 5 || JEMALLOC_VERSION_MINOR < 3 || !defined(JEMALLOC_FRAG_HINT) || \
    !defined(VALKEY_VENDORED_JEMALLOC)
#error "Redis and Valkey would leave active defragmentation out"
#endif

#define MOST_BINS 64

static size_t value_of(const char *name) {
    size_t value = 0, size = sizeof value;  // on x86-64 the value of a shorter type is right, too
    const int error = je_mallctl(name, &value, &size, NULL, 0);
    CHECK(error == 0 || error == EINVAL);
    return value;
}

static void renew_figures(void) {
    uint64_t epoch = 1;
    CHECK_EQ(je_mallctl("epoch", NULL, NULL, &epoch, sizeof epoch), 0);
}

// The figures of a bin, which are read by numbers.
struct Bin {
    size_t size, blocks;
    size_t mib[3][6];
    size_t live, runs, nonfull;
};
static struct Bin bins[MOST_BINS];
static unsigned bin_count;
static size_t query_mib[6], query_length = 6;

// What Valkey expects of a size class: 8, 16 … 64, then four for each doubling.
static size_t expected_size(unsigned bin) {
    if (bin < 8) return 8 * (bin + 1);
    const size_t doubling = (size_t)64 << (bin - 8) / 4;
    return doubling + doubling / 4 * ((bin - 8) % 4 + 1);
}

static void find_bins(void) {
    static const char *const kFigures[] = {"curregs", "curslabs", "nonfull_slabs"};
    char name[100];
    CHECK_EQ(value_of("arenas.quantum"), 8);
    CHECK_EQ(je_mallctlnametomib("experimental.utilization.batch_query", query_mib, &query_length), 0);
    bin_count = (unsigned)value_of("arenas.nbins");
    CHECK(bin_count > 30 && bin_count <= MOST_BINS);
    for (unsigned i = 0; i < bin_count; ++i) {
        snprintf(name, sizeof name, "arenas.bin.%u.size", i);
        bins[i].size = value_of(name);
        CHECK_EQ(bins[i].size, expected_size(i));
        snprintf(name, sizeof name, "arenas.bin.%u.nregs", i);
        bins[i].blocks = value_of(name);
        for (unsigned figure = 0; figure < 3; ++figure) {
            size_t length = 6;
            snprintf(name, sizeof name, "stats.arenas.%d.bins.%u.%s", MALLCTL_ARENAS_ALL, i, kFigures[figure]);
            CHECK_EQ(je_mallctlnametomib(name, bins[i].mib[figure], &length), 0);
            CHECK_EQ(length, 6);
        }
    }
}

static void read_bins(void) {
    renew_figures();
    for (unsigned i = 0; i < bin_count; ++i) {
        size_t *const figures[] = {&bins[i].live, &bins[i].runs, &bins[i].nonfull};
        for (unsigned figure = 0; figure < 3; ++figure) {
            size_t size = sizeof(size_t);
            CHECK_EQ(je_mallctlbymib(bins[i].mib[figure], 6, figures[figure], &size, NULL, 0), 0);
        }
    }
}

// Whether the block's run is at most an eighth fuller than the runs of its bin that are not full.
static int is_worth_moving_by_figures(void *block) {
    size_t run[3], size = sizeof run;
    CHECK_EQ(je_mallctlbymib(query_mib, query_length, run, &size, &block, sizeof block), 0);
    CHECK(run[1] != 0);
    if (run[2] / run[1] > bins[bin_count - 1].size) return 0;  // a large block
    unsigned bin = 0;
    while (bins[bin].size < run[2] / run[1]) ++bin;
    CHECK_EQ(bins[bin].size, run[2] / run[1]);
    CHECK_EQ(bins[bin].blocks, run[1]);
    if (run[0] == 0 || bins[bin].nonfull < 2) return 0;
    const size_t in_others = bins[bin].live - (bins[bin].runs - bins[bin].nonfull) * bins[bin].blocks;
    return 8 * (run[1] - run[0]) * bins[bin].nonfull <= 9 * in_others;
}

static int is_worth_moving_by_hint(void *block) { return je_get_defrag_hint(block); }

#define COUNT 60000

static unsigned char *blocks[COUNT];
static size_t sizes[COUNT];

static void check_contents(size_t i) {
    for (size_t at = 0; at < sizes[i]; ++at) CHECK_EQ(blocks[i][at], (unsigned char)(i + at));
}

// As redis's activeDefragAlloc().
static void move(size_t i) {
    const size_t size = je_malloc_usable_size(blocks[i]);
    unsigned char *copy = je_mallocx(size, MALLOCX_TCACHE_NONE);
    CHECK(copy != NULL);
    memcpy(copy, blocks[i], size);
    je_dallocx(blocks[i], MALLOCX_TCACHE_NONE);
    blocks[i] = copy;
}

static void check_moves(int (*is_worth_moving)(void *block)) {
    uint64_t state = 24;
    size_t live = 0;
    for (size_t i = 0; i < COUNT; ++i) {
        sizes[i] = i % 50 == 0 ? 5000 + random_below(&state, 25000) : 1 + random_below(&state, i % 3 == 0 ? 3000 : 200);
        if (i % 1000 == 0) sizes[i] = 100000;
        blocks[i] = je_malloc(sizes[i]);
        CHECK(blocks[i] != NULL);
        for (size_t at = 0; at < sizes[i]; ++at) blocks[i][at] = (unsigned char)(i + at);
    }
    for (size_t i = 0; i < COUNT; ++i) {
        if (random_below(&state, 3) != 0) {
            je_free(blocks[i]);
            blocks[i] = NULL;
        } else {
            live += sizes[i];
        }
    }
    read_bins();
    const size_t before = value_of("stats.active");
    CHECK(before - live > live / 2);  // the memory of the blocks is mostly holes
    size_t moved = 1;
    for (int pass = 0; pass < 12 && moved != 0; ++pass) {
        moved = 0;
        for (size_t i = 0; i < COUNT; ++i) {
            if (blocks[i] == NULL || !is_worth_moving(blocks[i])) continue;
            move(i);
            ++moved;
        }
        read_bins();
    }
    const size_t after = value_of("stats.active");
    CHECK(after < before - (before - live) / 2);
    for (size_t i = 0; i < COUNT; ++i) {
        if (blocks[i] != NULL) check_contents(i);
        je_free(blocks[i]);
    }
}

int main(void) {
    find_bins();
    check_moves(is_worth_moving_by_hint);
    check_moves(is_worth_moving_by_figures);
    return 0;
}
