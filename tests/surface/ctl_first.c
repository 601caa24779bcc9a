// acre-test: not-preload
// What a program asks before its first allocation: the first arena is there.
#include "check.h"

#include <acre/jemalloc.h>

static void check_first(void) {
    bool made = false;
    size_t size = sizeof made;
    CHECK_EQ(acre_mallctl("arena.0.initialized", &made, &size, NULL, 0), 0);
    CHECK(made);
}

int main(void) {
    ssize_t decay = 0, wanted = 5000;
    size_t size = sizeof decay;
    CHECK_EQ(acre_mallctl("arena.0.dirty_decay_ms", &decay, &size, NULL, 0), 0);
    CHECK_EQ(decay, 10000);
    CHECK_EQ(acre_mallctl("arena.0.dirty_decay_ms", NULL, NULL, &wanted, sizeof wanted), 0);
    CHECK_EQ(acre_mallctl("arena.0.purge", NULL, NULL, NULL, 0), 0);
    check_first();
    size_t pages = 1;
    size = sizeof pages;
    CHECK_EQ(acre_mallctl("stats.arenas.0.pactive", &pages, &size, NULL, 0), 0);
    free(must_malloc(100));
    size = sizeof decay;
    CHECK_EQ(acre_mallctl("arena.0.dirty_decay_ms", &decay, &size, NULL, 0), 0);
    CHECK_EQ(decay, wanted);
    return 0;
}
