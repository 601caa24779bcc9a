// acre-test: libs=pthread
// pthread_atfork handlers that allocate and free, in prepare, parent and child; some are registered
// before main, some later; threads are allocating meanwhile.
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

enum { kThreads = 3, kForks = 500 };

static _Atomic int stop;
static void *made_in_prepare[2][64];
static int parents, children;

static void fill(void **blocks) {
    for (size_t i = 0; i < 64; i++) {
        blocks[i] = must_malloc(i * i * 8 + 1);
        memset(blocks[i], (int)i, i * i * 8 + 1);
    }
    free(must_malloc(4 * MIB));
}

static void check_and_free(void **blocks) {
    for (size_t i = 0; i < 64; i++) {
        CHECK(all_bytes_are(blocks[i], i * i * 8 + 1, (unsigned char)i));
        free(blocks[i]);
    }
    free(must_malloc(3000));
}

static void early_prepare(void) { fill(made_in_prepare[0]); }
static void early_parent(void) { parents++; check_and_free(made_in_prepare[0]); }
static void early_child(void) { children++; check_and_free(made_in_prepare[0]); }
static void late_prepare(void) { fill(made_in_prepare[1]); }
static void late_parent(void) { parents++; check_and_free(made_in_prepare[1]); }
static void late_child(void) { children++; check_and_free(made_in_prepare[1]); }

__attribute__((constructor(101))) static void before_main(void) {
    CHECK_EQ(pthread_atfork(early_prepare, early_parent, early_child), 0);
}

static void *work(void *argument) {
    uint64_t random = (uint64_t)(uintptr_t)argument;
    void *blocks[32] = {0};
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        const size_t i = random_below(&random, 32);
        free(blocks[i]);
        blocks[i] = must_malloc(random_below(&random, 60000));
        if (random_below(&random, 200) == 0) usleep(200);
    }
    for (int i = 0; i < 32; i++) free(blocks[i]);
    return NULL;
}

int main(void) {
    CHECK_EQ(pthread_atfork(late_prepare, late_parent, late_child), 0);
    pthread_t threads[kThreads];
    for (int i = 0; i < kThreads; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1)), 0);
    }
    for (int i = 0; i < kForks; i++) {
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(300);
            CHECK_EQ(children, 2);
            free(must_malloc(100));
            if (i % 10 == 0) {
                const pid_t grandchild = fork();
                if (grandchild == 0) _exit(children == 4 ? 11 : 12);
                check_child(grandchild, 11);
            }
            _exit(11);
        }
        CHECK_EQ(parents, 2 * (i + 1));
        check_child(child, 11);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < kThreads; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    return 0;
}
