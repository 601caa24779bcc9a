// acre-test: libs=pthread env=ACRE_CONF=background_thread:true,dirty_decay_ms:300
// With the background thread, the memory of a program that sleeps goes down: what it freed, and what others freed in
// the runs of a thread that is idle. Then the background thread sleeps too.
#include "background.h"

#include <pthread.h>
#include <signal.h>

enum { kBlocks = 40000 };

static void *blocks[kBlocks];
static pthread_barrier_t filled, done;

// Keeps its runs adopted or available, and never comes to its slow path again.
static void *fill_and_sleep(void *argument) {
    (void)argument;
    for (int i = 0; i < kBlocks; i++) blocks[i] = memset(must_malloc(1000), 1, 1000);
    for (int i = 0; i < kBlocks; i += 4) {
        free(blocks[i]);
        blocks[i] = NULL;
    }
    pthread_barrier_wait(&filled);
    pthread_barrier_wait(&done);
    return NULL;
}

// Its switches of processors do not grow any more.
static void check_asleep(const char *task) {
    for (int i = 0; i < kPatienceSeconds; i++) {
        const unsigned long long before = of_task(task, "\nvoluntary_ctxt_switches:", 10);
        usleep(700000);
        if (of_task(task, "\nvoluntary_ctxt_switches:", 10) == before) return;
    }
    CHECK(!"the background thread sleeps");
}

int main(void) {
    without_huge_pages();
    CHECK_EQ(pthread_barrier_init(&filled, NULL, 2), 0);
    CHECK_EQ(pthread_barrier_init(&done, NULL, 2), 0);
    const size_t before = resident_bytes();
    for (int round = 0; round < 2; round++) {
        fill_and_free();
        wait_until_resident(before + 8 * MIB);
    }

    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, fill_and_sleep, NULL), 0);
    pthread_barrier_wait(&filled);
    CHECK_GE(resident_bytes(), before + 25 * MIB);
    for (int i = 0; i < kBlocks; i++) free(blocks[i]);
    wait_until_resident(before + 10 * MIB);

    char task[64];
    CHECK_EQ(background_threads(task), 1);
    CHECK((of_task(task, "\nSigBlk:", 16) & (1ull << (SIGTERM - 1) | 1ull << (SIGUSR1 - 1))) ==
          (1ull << (SIGTERM - 1) | 1ull << (SIGUSR1 - 1)));
    check_asleep(task);
    pthread_barrier_wait(&done);
    CHECK_EQ(pthread_join(thread, NULL), 0);

    // Asleep without a time limit, it hears of a single block.
    void *block = memset(must_malloc(30 * MIB), 1, 30 * MIB);
    check_asleep(task);
    free(block);
    wait_until_resident(before + 10 * MIB);
    CHECK_EQ(background_threads(task), 1);
    return 0;
}
