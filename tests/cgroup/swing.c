// swing LIMIT_MIB: what this program has in blocks swings between 20 % and 90 % of a limit that it does not know how to
// ask for. Threads take turns at growing it, with small, middle-sized and large blocks by turns; the oldest blocks are
// freed first. It prints the highest of its resident memory in MiB.
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { kThreads = 4, kSwings = 24 };

struct Block {
    struct Block *next;
    size_t bytes;
};

static struct Block *oldest, *newest;
static size_t live, limit;
static uint64_t random_state = 1;
static pthread_barrier_t turn;

static size_t random_below(size_t bound) {
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (size_t)(random_state >> 33) % bound;
}

static size_t size_for(int swing) {
    switch (swing % 3) {
        case 0: return 48 + random_below(2000);
        case 1: return 20000 + random_below(100000);
        default: return 300000 + random_below(5000000);
    }
}

static void grow(int swing) {
    for (;;) {
        struct Block *block = malloc(size_for(swing));
        if (block == NULL) exit(3);
        const size_t bytes = malloc_usable_size(block);
        if (live + bytes > limit / 10 * 9) {
            free(block);
            return;
        }
        memset(block, swing + 1, bytes);
        block->next = NULL;
        block->bytes = bytes;
        if (newest == NULL) oldest = block;
        else newest->next = block;
        newest = block;
        live += bytes;
    }
}

static void shrink(void) {
    while (live > limit / 5 && oldest != NULL) {
        struct Block *block = oldest;
        oldest = block->next;
        if (oldest == NULL) newest = NULL;
        live -= block->bytes;
        free(block);
    }
}

static void *run(void *argument) {
    const int mine = (int)(intptr_t)argument;
    for (int swing = 0; swing < kSwings; swing++) {
        if (swing % kThreads == mine) {
            grow(swing);
            shrink();
        }
        pthread_barrier_wait(&turn);
    }
    return NULL;
}

int main(int argc, char **argv) {
    limit = (argc > 1 ? strtoul(argv[1], NULL, 10) : 256) << 20;
    pthread_barrier_init(&turn, NULL, kThreads);
    pthread_t threads[kThreads];
    for (intptr_t i = 0; i < kThreads; i++) pthread_create(&threads[i], NULL, run, (void *)i);
    for (int i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%ld\n", usage.ru_maxrss / 1024);
    return 0;
}
