// acre-test: libs=pthread
// Threads free nine tenths of their own blocks, here and there, and then sleep. Another thread that
// allocates as many bytes uses those, and not fresh memory.
#include "check.h"

#include <pthread.h>

enum { kThreads = 4 };
static const size_t kBytes = 40 * MIB;

static pthread_barrier_t freed, done;
static size_t block_size;
static size_t freed_blocks[kThreads];
static void **blocks[kThreads];

static void *fill_free_idle(void *argument) {
    const size_t index = (size_t)(uintptr_t)argument;
    uint64_t random = index + 77;
    const size_t count = kBytes / block_size;
    for (size_t i = 0; i < count; i++) {
        blocks[index][i] = must_malloc(block_size);
        memset(blocks[index][i], (int)index + 1, block_size);
    }
    for (size_t i = 0; i < count; i++) {
        if (random_below(&random, 10) == 0) continue;
        free(blocks[index][i]);
        blocks[index][i] = NULL;
        freed_blocks[index]++;
    }
    pthread_barrier_wait(&freed);
    pthread_barrier_wait(&done);
    for (size_t i = 0; i < count; i++) {
        if (blocks[index][i] == NULL) continue;
        CHECK(all_bytes_are(blocks[index][i], block_size, (unsigned char)(index + 1)));
        free(blocks[index][i]);
    }
    return NULL;
}

static void one_size(size_t size) {
    block_size = size;
    pthread_t threads[kThreads];
    const size_t base = resident_bytes();
    CHECK_EQ(pthread_barrier_init(&freed, NULL, kThreads + 1), 0);
    CHECK_EQ(pthread_barrier_init(&done, NULL, kThreads + 1), 0);
    for (size_t i = 0; i < kThreads; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, fill_free_idle, (void *)(uintptr_t)i), 0);
    }
    pthread_barrier_wait(&freed);
    size_t total = 0;
    for (size_t i = 0; i < kThreads; i++) total += freed_blocks[i];
    // The peak, whatever of it has been returned already.
    const size_t peak = base + kThreads * kBytes;
    for (size_t i = 0; i < total; i++) {
        char *block = (char *)must_malloc(size);
        memset(block, 9, size);
    }
    // 32 MiB may wait in thread caches, and a quarter is fragmentation.
    CHECK_LE(resident_bytes(), peak + 32 * MIB + total * size / 4);
    pthread_barrier_wait(&done);
    for (size_t i = 0; i < kThreads; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

int main(void) {
    without_huge_pages();
    const size_t sizes[] = {48, 128, 1000, 4096, 16000};
    for (size_t i = 0; i < kThreads; i++) {
        const size_t room = kBytes / sizes[0] * sizeof(void *);
        blocks[i] = (void **)map_pages(room);
        memset(blocks[i], 0, room);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const pid_t child = fork();
        if (child == 0) {
            one_size(sizes[i]);
            _exit(0);
        }
        check_child(child, 0);
    }
    return 0;
}
