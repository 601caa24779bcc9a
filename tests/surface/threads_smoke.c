// acre-test: libs=pthread
// Threads that only end: cancelled, detached, with pthread_exit, with nothing freed by themselves.
#include "check.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>

enum { kRounds = 1000 };

static _Atomic int ended;

static void count_end(void *block) {
    free(block);
    free(must_malloc(500));
    atomic_fetch_add(&ended, 1);
}

static void *cancelled(void *unused) {
    void *block = must_malloc(5000);
    pthread_cleanup_push(count_end, block);
    for (;;) {
        free(must_malloc(100));
        pthread_testcancel();
    }
    pthread_cleanup_pop(1);
    return unused;
}

static void *exits(void *argument) {
    free(argument);
    void *block = must_malloc(20000);
    memset(block, 3, 20000);
    pthread_exit(block);
}

static void *detached(void *argument) {
    free(argument);
    atomic_fetch_add(&ended, 1);
    return NULL;
}

int main(void) {
    size_t warm = 0;
    for (int i = 0; i < kRounds; i++) {
        pthread_t one, two, three;
        void *result = NULL;
        CHECK_EQ(pthread_create(&one, NULL, cancelled, NULL), 0);
        CHECK_EQ(pthread_create(&two, NULL, exits, must_malloc(100)), 0);
        CHECK_EQ(pthread_create(&three, NULL, detached, must_malloc(100)), 0);
        CHECK_EQ(pthread_detach(three), 0);
        CHECK_EQ(pthread_cancel(one), 0);
        CHECK_EQ(pthread_join(one, &result), 0);
        CHECK(result == PTHREAD_CANCELED);
        CHECK_EQ(pthread_join(two, &result), 0);
        CHECK(all_bytes_are(result, 20000, 3));
        free(result);
        if (i == kRounds / 4) warm = resident_bytes();
    }
    CHECK_LE(resident_bytes(), warm + 16 * MIB);
    return 0;
}
