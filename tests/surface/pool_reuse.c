// acre-test: libs=pthread
// Threads of a pool fill memory and then idle; what others free of it is there for everybody.
#include "check.h"

#include <pthread.h>

enum { kThreads = 8 };
static const size_t kBytes = 20 * MIB;

static pthread_barrier_t filled, done;
static size_t block_size;
static void **blocks[kThreads];

static void *fill_then_idle(void *argument) {
    const size_t index = (size_t)(uintptr_t)argument;
    for (size_t i = 0; i < kBytes / block_size; i++) {
        blocks[index][i] = must_malloc(block_size);
        memset(blocks[index][i], 1, block_size);
    }
    pthread_barrier_wait(&filled);
    pthread_barrier_wait(&done);
    return NULL;
}

static void one_size(size_t size) {
    block_size = size;
    const size_t base = resident_bytes();
    pthread_t threads[kThreads];
    CHECK_EQ(pthread_barrier_init(&filled, NULL, kThreads + 1), 0);
    CHECK_EQ(pthread_barrier_init(&done, NULL, kThreads + 1), 0);
    for (size_t i = 0; i < kThreads; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, fill_then_idle, (void *)(uintptr_t)i), 0);
    }
    pthread_barrier_wait(&filled);
    const size_t full = resident_bytes();
    const size_t count = kBytes / size;
    for (size_t t = 0; t < kThreads; t++) {
        for (size_t i = 0; i < count; i++) free(blocks[t][i]);
    }
    // The owners sleep. The same bytes again, all by this thread:
    for (size_t t = 0; t < kThreads; t++) {
        for (size_t i = 0; i < count; i++) {
            blocks[t][i] = must_malloc(size);
            memset(blocks[t][i], 2, size);
        }
    }
    const size_t again = resident_bytes();
    CHECK_LE(again - base, (full - base) / 100 * 135);
    for (size_t t = 0; t < kThreads; t++) {
        for (size_t i = 0; i < count; i++) free(blocks[t][i]);
    }
    pthread_barrier_wait(&done);
    for (size_t i = 0; i < kThreads; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

int main(void) {
    without_huge_pages();
    const size_t sizes[] = {64, 200, 1000, 10000};
    for (size_t i = 0; i < kThreads; i++) {
        const size_t room = kBytes / sizes[0] * sizeof(void *);
        blocks[i] = (void **)map_pages(room);
        memset(blocks[i], 0, room);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        // A child for each size: every one starts from a process that has allocated nothing yet.
        const pid_t child = fork();
        if (child == 0) {
            one_size(sizes[i]);
            _exit(0);
        }
        check_child(child, 0);
    }
    return 0;
}
