// acre-test: libs=pthread
// Threads with the smallest stack that the system grants, or 16 KiB if that is smaller (musl), can allocate and free.
#include "check.h"

#include <limits.h>
#include <malloc.h>
#include <pthread.h>

static void work(void) {
    for (size_t size = 1; size <= 4 * MIB; size = size * 3 + 1) {
        char *block = (char *)malloc(hide_size(size));
        if (block == NULL) _exit(2);
        block[size - 1] = 1;
        block = (char *)realloc(block, size * 2);
        if (block == NULL) _exit(3);
        free(block);
        block = (char *)calloc(1, size);
        if (block == NULL) _exit(4);
        free(block);
        void *aligned = NULL;
        if (posix_memalign(&aligned, 256, size) != 0) _exit(5);
        free(aligned);
    }
}

static void *run(void *unused) {
    for (int i = 0; i < 20; i++) work();
    malloc_trim(0);
    return unused;
}

int main(void) {
    // Symbols are looked up once on the big stack: the loader's resolver saves many registers.
    run(NULL);
    pthread_attr_t attributes;
    CHECK_EQ(pthread_attr_init(&attributes), 0);
    const size_t least = (size_t)PTHREAD_STACK_MIN, minimum = least < 16 * KIB ? 16 * KIB : least;
    CHECK_EQ(pthread_attr_setstacksize(&attributes, minimum), 0);
    size_t extra = 0;
    pthread_t thread;
    // Thread-local storage lives on the stack: where it does not fit, the system says EINVAL.
    while (pthread_create(&thread, &attributes, run, NULL) != 0) {
        extra += 4096;
        CHECK_LE(extra, 64 * KIB);
        CHECK_EQ(pthread_attr_setstacksize(&attributes, minimum + extra), 0);
    }
    CHECK_EQ(pthread_join(thread, NULL), 0);
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(pthread_create(&thread, &attributes, run, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    return 0;
}
