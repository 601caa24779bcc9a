// A handler for SIGABRT that allocates as crash reporters do: in its own thread, in another one that it waits for, and
// in a program that it starts. Its line is printed only when all of that is done.
#ifndef ACRE_TESTS_MISUSE_ABORT_HANDLER_H
#define ACRE_TESTS_MISUSE_ABORT_HANDLER_H

#include "misuse.h"

#include <signal.h>

enum { kMostBlocks = 100 };

static size_t size_of(size_t i) { return i * i * 37 + 1; }

static void *allocate(void *count) {
    const size_t number = (uintptr_t)count;
    void *blocks[kMostBlocks];
    for (size_t i = 0; i < number; i++) {
        const size_t size = size_of(i);
        blocks[i] = i % 3 == 0 ? hide(calloc(1, size)) : i % 3 == 1 ? hide(aligned_alloc(64, size)) : must_malloc(size);
        CHECK(blocks[i] != NULL);
        fill_pattern(blocks[i], size, i);
    }
    for (size_t i = 0; i < number; i++) {
        CHECK_EQ(pattern_length(blocks[i], size_of(i), i), size_of(i));
        blocks[i] = hide(realloc(blocks[i], size_of(number - 1 - i)));
        CHECK(blocks[i] != NULL);
    }
    for (size_t i = 0; i < number; i++) free(blocks[i]);
    return NULL;
}

// The other thread may come upon the same overwritten list, so it takes no blocks above 4 KiB.
static void on_abort(int signal) {
    allocate((void *)kMostBlocks);
    in_thread(allocate, (void *)10);
    CHECK_EQ(system("exit 3"), 3 << 8);
    fprintf(stderr, "the handler is done\n");
    allocate((void *)kMostBlocks);
}

// The alarm is for a handler that hangs.
static void handle_abort(void) {
    CHECK(signal(SIGABRT, on_abort) != SIG_ERR);
    alarm(50);
}

// Of blocks that are free, but in runs where others live.
static inline void overwrite_and_allocate(void) {
    enum { kBlocks = 200, kOnPrivateList = 12 };
    void *blocks[kBlocks];
    for (int i = 0; i < kBlocks; i++) blocks[i] = must_malloc(8192);
    for (int i = 0; i < kBlocks; i += 2) free(blocks[i]);
    for (int i = 2 * kOnPrivateList; i < kBlocks; i += 2) memset(hide(blocks[i]), 'x', 64);
    for (int i = 0; i < kBlocks; i++) must_malloc(8192);
}

#endif
