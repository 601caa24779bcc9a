// malloc_usable_size is usable to the last byte, never below the request, and realloc agrees.
#include "check.h"

#include <malloc.h>

enum { kLive = 37 };

static unsigned char *live[kLive];
static size_t live_usable[kLive];
static unsigned char live_value[kLive];

// A ring of live blocks, each filled to its usable end: an overlap shows when a block leaves.
static void enter(unsigned char *block, size_t request, size_t turn) {
    const size_t slot = turn % kLive;
    if (live[slot] != NULL) {
        CHECK_AT(all_bytes_are(live[slot], live_usable[slot], live_value[slot]), request);
        CHECK_EQ(malloc_usable_size(live[slot]), live_usable[slot]);
        free(live[slot]);
    }
    live[slot] = block;
    if (block == NULL) return;
    live_usable[slot] = malloc_usable_size(block);
    live_value[slot] = (unsigned char)(turn | 1);
    CHECK_GE(live_usable[slot], request);
    memset(block, live_value[slot], live_usable[slot]);
}

int main(void) {
    size_t turn = 0;
    size_t last_usable = 0;
    for (size_t size = 0; size <= 70000; size++, turn++) {
        unsigned char *block = (unsigned char *)must_malloc(size);
        enter(block, size, turn);
        // A bigger request never has a smaller class.
        CHECK_GE(live_usable[turn % kLive], last_usable);
        last_usable = live_usable[turn % kLive];
    }
    const size_t bigger[] = {98304,   100000,     131072,     131073,      200000,      262144,
                             524288,  1000000,    1048575,    1048576,     1048577,     1500000,
                             2097152, 2097153,    3 * MIB,    4 * MIB - 1, 4 * MIB,     4 * MIB + 1,
                             5000000, 8 * MIB,    10000000,   16 * MIB,    16 * MIB + 1, 31 * MIB,
                             32 * MIB, 33 * MIB + 7};
    for (size_t i = 0; i < sizeof bigger / sizeof bigger[0]; i++, turn++) {
        enter((unsigned char *)must_malloc(bigger[i]), bigger[i], turn);
    }
    for (int i = 0; i < kLive; i++, turn++) enter(NULL, 0, turn);

    // realloc up to the usable size stays in place, and one byte more gives more.
    for (size_t size = 1; size <= 4 * MIB; size += size / 100 + 1) {
        void *block = must_malloc(size);
        const size_t usable = malloc_usable_size(block);
        CHECK(hide(realloc(block, hide_size(usable))) == block);
        CHECK_EQ(malloc_usable_size(block), usable);
        void *more = hide(realloc(block, hide_size(usable + 1)));
        CHECK(more != NULL);
        CHECK_GE(malloc_usable_size(more), usable + 1);
        free(more);
    }

    // The same request has the same usable size by each way to ask for it.
    for (size_t size = 1; size <= 200000; size += size / 50 + 1) {
        void *by_malloc = must_malloc(size);
        void *by_calloc = hide(calloc(1, hide_size(size)));
        void *by_realloc = hide(realloc(NULL, hide_size(size)));
        CHECK(by_calloc != NULL && by_realloc != NULL);
        CHECK_EQ(malloc_usable_size(by_malloc), malloc_usable_size(by_calloc));
        CHECK_EQ(malloc_usable_size(by_malloc), malloc_usable_size(by_realloc));
        free(by_malloc);
        free(by_calloc);
        free(by_realloc);
    }
    return 0;
}
