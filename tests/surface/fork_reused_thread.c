// acre-test: libs=pthread
// In the child of a fork a new thread may get the place in memory of one of the parent's threads, which does
// not exist there. It must not take what that one owned for its own.
#include "check.h"

#include <pthread.h>
#include <semaphore.h>

enum { kBlocks = 40000, kRounds = 5 };

static void *blocks[kBlocks];
static sem_t ready, never;

// Leaves runs of all kinds behind: current, full, partly free.
static void *owner(void *unused) {
    for (int i = 0; i < kBlocks; i++) blocks[i] = must_malloc(48);
    for (int i = 0; i < kBlocks; i++) {
        if (i % 4 == 0) continue;
        free(blocks[i]);
        blocks[i] = NULL;
    }
    CHECK_EQ(sem_post(&ready), 0);
    sem_wait(&never);
    return unused;
}

// Frees before it allocates, or the other way round.
static void *successor(void *allocate_first) {
    void **mine = allocate_first ? (void **)must_malloc(kBlocks * sizeof *mine) : NULL;
    for (int i = 0; i < kBlocks; i++) free(blocks[i]);
    if (mine == NULL) mine = (void **)must_malloc(kBlocks * sizeof *mine);
    for (int round = 0; round < kRounds; round++) {
        for (int i = 0; i < kBlocks; i++) {
            mine[i] = must_malloc(48);
            memset(mine[i], i, 48);
        }
        for (int i = 0; i < kBlocks; i++) {
            CHECK(all_bytes_are(mine[i], 48, (unsigned char)i));
            free(mine[i]);
        }
    }
    free(mine);
    return NULL;
}

static void try_in_child(void *allocate_first) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, successor, allocate_first), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        _exit(0);
    }
    check_child(child, 0);
}

int main(void) {
    pthread_t thread;
    CHECK_EQ(sem_init(&ready, 0, 0), 0);
    CHECK_EQ(sem_init(&never, 0, 0), 0);
    CHECK_EQ(pthread_create(&thread, NULL, owner, NULL), 0);
    CHECK_EQ(sem_wait(&ready), 0);
    try_in_child(NULL);
    try_in_child(&ready);
    return 0;
}
