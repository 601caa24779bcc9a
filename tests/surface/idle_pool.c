// acre-test: libs=pthread
// Threads free most of what they have allocated, and go to sleep. A thread that grows finds that memory after a few
// milliseconds, and not in a quarter of a second.
#include "check.h"

#include <pthread.h>
#include <time.h>

enum { kThreads = 4, kBlock = 200 };
static const size_t kBytes = 16 * MIB;  // so little that all of it may stay in the threads' caches
static const size_t kStep = 8 * MIB;

static pthread_barrier_t freed, done;

static void *fill_free_idle(void *unused) {
    (void)unused;
    const size_t count = kBytes / kBlock;
    void **blocks = (void **)map_pages(count * sizeof(void *));
    for (size_t i = 0; i < count; i++) {
        blocks[i] = must_malloc(kBlock);
        memset(blocks[i], 1, kBlock);
    }
    for (size_t i = 0; i < count; i++) {
        if (i % 8 != 0) free(blocks[i]);
    }
    pthread_barrier_wait(&freed);
    pthread_barrier_wait(&done);
    for (size_t i = 0; i < count; i += 8) free(blocks[i]);
    return NULL;
}

static void grow(size_t bytes) {
    for (size_t i = 0; i < bytes / kBlock; i++) memset(must_malloc(kBlock), 2, kBlock);
}

int main(void) {
    without_huge_pages();
    CHECK_EQ(pthread_barrier_init(&freed, NULL, kThreads + 1), 0);
    CHECK_EQ(pthread_barrier_init(&done, NULL, kThreads + 1), 0);
    pthread_t threads[kThreads];
    for (int i = 0; i < kThreads; i++) CHECK_EQ(pthread_create(&threads[i], NULL, fill_free_idle, NULL), 0);
    pthread_barrier_wait(&freed);
    const size_t before = resident_bytes();
    const struct timespec pause = {0, 20000000};
    for (int i = 0; i < 2; i++) {  // announces the reclaim, and reclaims
        grow(kStep);
        nanosleep(&pause, NULL);
    }
    grow(3 * kStep);
    CHECK_LE(resident_bytes(), before + 3 * kStep);
    pthread_barrier_wait(&done);
    for (int i = 0; i < kThreads; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    return 0;
}
