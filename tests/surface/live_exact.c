// Small blocks that live are counted exactly, also in runs that no thread owns: when the thread that made them has ended.
// acre-test: not-static
#include "check.h"

#include <pthread.h>

// Weak: a program that acre is preloaded into is not linked with it.
extern int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));

enum { kBlocks = 40000 };
static void *blocks[kBlocks];

static size_t allocated(void) {
    uint64_t epoch = 1;
    CHECK_EQ(mallctl("epoch", NULL, NULL, &epoch, sizeof epoch), 0);
    size_t bytes, size = sizeof bytes;
    CHECK_EQ(mallctl("stats.allocated", &bytes, &size, NULL, 0), 0);
    return bytes;
}

static void *fill(void *unused) {
    (void)unused;
    for (int i = 0; i < kBlocks; i++) blocks[i] = must_malloc(8);
    return NULL;
}

int main(void) {
    // A canary takes 8 bytes.
    const size_t block_bytes = getenv("ACRE_TEST_HARDENED") != NULL ? 16 : 8;
    const size_t slack = 8192;  // what the C library allocates for a thread
    pthread_t thread;
    const size_t before = allocated();
    CHECK_EQ(pthread_create(&thread, NULL, fill, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    const size_t live = allocated() - before;
    CHECK_AT(live >= kBlocks * block_bytes && live <= kBlocks * block_bytes + slack, live);
    for (int i = 0; i < kBlocks; i++) free(blocks[i]);
    CHECK(allocated() <= before + slack);
    return 0;
}
