// acre-test: libs=pthread
// acre-test: not-hardened
// Blocks of 1 to 64 MiB that come and go use the same memory again: the system is not asked for it each time. Counted
// in page faults, which is what it costs.
// In the hardened mode freed large blocks cannot be reached for a while, and their memory goes back.
#include "check.h"

#include <pthread.h>

enum { kRounds = 20, kLive = 6, kSteps = 2000 };

static void touch(char *block, size_t size) {
    for (size_t i = 0; i < size; i += 4096) block[i] = 1;
}

static void once(size_t size) {
    char *block = (char *)must_malloc(size);
    touch(block, size);
    free(block);
}

// One size: no fault at all, or nearly.
static void one_size(size_t size) {
    for (int i = 0; i < 3; i++) once(size);
    const long before = minor_faults();
    for (int i = 0; i < kRounds; i++) once(size);
    CHECK_AT((size_t)(minor_faults() - before) <= kRounds * (size / 4096) / 100, size);
}

// Sizes at random, some of them alive: a few, where memory in the right pieces is not at hand.
static void random_sizes(void) {
    char *live[kLive] = {NULL};
    uint64_t random = 1;
    size_t touched = 0;
    long before = 0;
    for (int step = 0; step < kSteps; step++) {
        if (step == kSteps / 4) {
            before = minor_faults();
            touched = 0;
        }
        const size_t i = random_below(&random, kLive), size = MIB + random_below(&random, 63 * MIB);
        free(live[i]);
        live[i] = (char *)must_malloc(size);
        touch(live[i], size);
        touched += size / 4096;
    }
    CHECK_LE(minor_faults() - before, touched / 50);
    for (int i = 0; i < kLive; i++) free(live[i]);
}

static void *in_thread(void *size) {
    for (int i = 0; i < kRounds; i++) once((size_t)(uintptr_t)size);
    return NULL;
}

// What one thread has freed serves another.
static void in_turns(size_t size) {
    long before = 0;
    for (int i = 0; i < 8; i++) {
        if (i == 2) before = minor_faults();
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, in_thread, (void *)(uintptr_t)size), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    CHECK_LE(minor_faults() - before, 6 * kRounds * (size / 4096) / 100);
}

int main(void) {
    without_huge_pages();
    for (size_t size = MIB; size <= 64 * MIB; size *= 2) {
        one_size(size);
        one_size(size - 100);
        one_size(size / 4 * 3);
    }
    for (size_t size = 33 * MIB; size <= 64 * MIB; size += 10 * MIB) one_size(size);
    in_turns(40 * MIB);
    random_sizes();
    return 0;
}
