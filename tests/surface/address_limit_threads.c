// acre-test: libs=pthread
// Address space is short, and what is free lies in pieces: threads that ask at the same time for longer blocks than each
// piece get them, as long as the pieces are enough for all.
#include "check.h"

#include <pthread.h>

static const size_t kRoom = 160 * MIB;
enum { kMost = 400, kThreads = 4, kRounds = 30 };

static pthread_barrier_t begin;

static void *ask(void *unused) {
    (void)unused;
    free(must_malloc(1));
    for (int round = 0; round < kRounds; round++) {
        pthread_barrier_wait(&begin);  // the pieces are free
        unsigned char *large = (unsigned char *)hide(malloc(hide_size(6 * MIB)));
        CHECK_AT(large != NULL, round);
        large[0] = large[6 * MIB - 1] = 1;
        pthread_barrier_wait(&begin);  // each thread has its block
        free(large);
        pthread_barrier_wait(&begin);
    }
    return NULL;
}

int main(void) {
    static unsigned char *blocks[kMost];
    pthread_t threads[kThreads];
    CHECK_EQ(pthread_barrier_init(&begin, NULL, kThreads + 1), 0);
    for (int i = 0; i < kThreads; i++) CHECK_EQ(pthread_create(&threads[i], NULL, ask, NULL), 0);
    free(must_malloc(1));
    limit_address_space(mapped_bytes() + kRoom);
    for (int round = 0; round < kRounds; round++) {
        const size_t count = fill_address_space(blocks, kMost);
        CHECK_GE(count, 120);
        for (size_t i = 0; i < count; i += 2) free(blocks[i]);
        for (int i = 0; i < 3; i++) pthread_barrier_wait(&begin);
        for (size_t i = 1; i < count; i += 2) {
            CHECK_AT(all_bytes_are(blocks[i], MIB, (unsigned char)i), i);
            free(blocks[i]);
        }
    }
    for (int i = 0; i < kThreads; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    unlimit_address_space();
    return 0;
}
