// What the misuse programs share. Each does one thing wrong, and acre ends it with one line.
#ifndef ACRE_TESTS_MISUSE_MISUSE_H
#define ACRE_TESTS_MISUSE_MISUSE_H

#include "../surface/check.h"

#include <malloc.h>
#include <pthread.h>

// A block with something written in it.
static inline void *take(size_t size) {
    void *block = must_malloc(size);
    memset(block, 0x61, size < 4096 ? size : 4096);
    return hide(block);
}

// Reached only where the misuse went through unnoticed.
static inline int survived(void) {
    static const char text[] = "the misuse went unnoticed\n";
    check_write(text, (int)sizeof text - 1);
    return 1;
}

static inline void *free_in_thread(void *block) {
    free(hide(block));
    return NULL;
}

static inline void *take_in_thread(void *size) {
    return take((size_t)(uintptr_t)size);
}

// Runs one function in a thread of its own and waits for it.
static inline void *in_thread(void *(*function)(void *), void *argument) {
    pthread_t thread;
    void *result = NULL;
    CHECK_EQ(pthread_create(&thread, NULL, function, argument), 0);
    CHECK_EQ(pthread_join(thread, &result), 0);
    return result;
}

#endif
