// acre-test: libs=pthread timeout=300 env=ACRE_CONF=background_thread:true,dirty_decay_ms:200
// fork from a program whose threads allocate and whose background thread returns memory: the child has no such
// thread, gets one of its own as it allocates, and its memory goes down while it sleeps. So does its child's.
#include "background.h"

#include <pthread.h>
#include <stdatomic.h>

enum { kThreads = 2, kForks = 150, kSleepers = 2 };

static _Atomic int stop;

static void *work(void *argument) {
    uint64_t random = (uint64_t)(uintptr_t)argument;
    while (!atomic_load(&stop)) {
        void *some[50];
        for (int i = 0; i < 50; i++) some[i] = must_malloc(1 + random_below(&random, 20000));
        free(must_malloc(300 * KIB));
        for (int i = 0; i < 50; i++) free(some[i]);
        if (random_below(&random, 8) == 0) usleep(500);
    }
    return NULL;
}

static void use_some(uint64_t seed) {
    for (int i = 0; i < 300; i++) {
        void *block = must_malloc(1 + random_below(&seed, 100000));
        free(memset(block, 1, 1));
    }
}

// The alarm is for a child that hangs on a lock.
static void sleeper(int generations) {
    alarm(280);
    char task[64];
    CHECK_EQ(background_threads(task), 0);
    const size_t filled = fill_and_free();
    wait_until_resident(filled - 60 * MIB);
    CHECK_EQ(background_threads(task), 1);
    if (generations > 1) {
        const pid_t child = fork();
        if (child == 0) sleeper(generations - 1);
        check_child(child, 9);
    }
    exit(9);
}

int main(void) {
    without_huge_pages();
    pthread_t threads[kThreads];
    for (int i = 0; i < kThreads; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1)), 0);
    }
    for (int i = 0; i < kForks; i++) {
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(280);
            use_some((uint64_t)i);
            if (i % 2) exit(9);
            _exit(9);
        }
        use_some((uint64_t)i);
        check_child(child, 9);
    }
    pid_t children[kSleepers];
    for (int i = 0; i < kSleepers; i++) {
        children[i] = fork();
        if (children[i] == 0) sleeper(2);
    }
    for (int i = 0; i < kSleepers; i++) check_child(children[i], 9);
    atomic_store(&stop, 1);
    for (int i = 0; i < kThreads; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    char task[64];
    CHECK_EQ(background_threads(task), 1);
    return 0;
}
