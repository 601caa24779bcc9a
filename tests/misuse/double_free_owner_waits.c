// expect: acre: free\(0x[0-9a-f]+\): double free
// Owned by a waiting thread, freed by a second one and by main.
#include "misuse.h"

static pthread_barrier_t taken;
static void *block;

static void *take_and_wait(void *unused) {
    block = take(300);
    pthread_barrier_wait(&taken);
    pthread_barrier_wait(&taken);
    return unused;
}

int main(void) {
    pthread_t owner;
    CHECK_EQ(pthread_barrier_init(&taken, NULL, 2), 0);
    CHECK_EQ(pthread_create(&owner, NULL, take_and_wait, NULL), 0);
    pthread_barrier_wait(&taken);
    in_thread(free_in_thread, block);
    free(hide(block));
    return survived();
}
