/* Pairs of malloc and free in several threads, for the C libraries whose malloc is compared: pairs MODE THREADS PAIRS

   own        each thread frees what it has allocated: 1000 blocks at a time, the oldest first
   exchanged  a block is freed by whichever thread comes by next: 1000 places that all threads share

   Blocks have 16 to 512 bytes, and are written at both ends. Prints nanoseconds a pair: the time by the
   clock from the first thread's first pair to the last thread's last one, over the pairs of all. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PLACES = 1000, MOST_THREADS = 64 };

static _Atomic(char *) shared[PLACES];
static pthread_barrier_t gate;
static int is_exchanged;
static long pairs;
static double began[MOST_THREADS], ended[MOST_THREADS]; /* seconds; each thread writes its own */

static void check(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "pairs: %s\n", what);
    exit(1);
}

static char *make(size_t size) {
    char *block = malloc(size);
    check(block != NULL, "malloc returned null");
    memcpy(block, &size, sizeof size);
    block[size - 1] = (char)size;
    return block;
}

/* expected: its size, or 0: not known. */
static void drop(char *block, size_t expected) {
    size_t size;
    if (block == NULL) return;
    memcpy(&size, block, sizeof size);
    check(size >= 16 && size <= 512 && block[size - 1] == (char)size, "a block was overwritten");
    check(expected == 0 || size == expected, "a block was overwritten");
    free(block);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *work(void *number) {
    char *own[PLACES] = {0};
    uint16_t sizes[PLACES] = {0};
    const uintptr_t thread = (uintptr_t)number;
    uint32_t random = (uint32_t)(thread + 1) * 2654435761u + 1;
    pthread_barrier_wait(&gate);
    began[thread] = seconds();
    for (long i = 0; i < pairs; ++i) {
        random = random * 1664525 + 1013904223;
        const size_t size = 16 + (random >> 16) % 497;
        if (is_exchanged) {
            drop(atomic_exchange(&shared[(random >> 8) % PLACES], make(size)), 0);
        } else {
            const long place = i % PLACES;
            drop(own[place], sizes[place]);
            own[place] = make(size);
            sizes[place] = (uint16_t)size;
        }
    }
    ended[thread] = seconds();
    pthread_barrier_wait(&gate);
    for (int i = 0; i < PLACES; ++i) drop(own[i], sizes[i]);
    return NULL;
}

int main(int count, char **words) {
    pthread_t threads[MOST_THREADS];
    check(count == 4, "MODE THREADS PAIRS");
    is_exchanged = strcmp(words[1], "exchanged") == 0;
    const int threads_wanted = atoi(words[2]);
    check(threads_wanted >= 1 && threads_wanted <= MOST_THREADS, "1 to 64 threads");
    pairs = atol(words[3]) / threads_wanted;
    pthread_barrier_init(&gate, NULL, (unsigned)threads_wanted);
    for (int i = 0; i < threads_wanted; ++i) {
        check(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) == 0, "no thread");
    }
    double first = 0, last = 0;
    for (int i = 0; i < threads_wanted; ++i) {
        pthread_join(threads[i], NULL);
        if (i == 0 || began[i] < first) first = began[i];
        if (i == 0 || ended[i] > last) last = ended[i];
    }
    for (int i = 0; i < PLACES; ++i) drop(atomic_exchange(&shared[i], NULL), 0);
    printf("%.2f\n", (last - first) * 1e9 / (double)(pairs * threads_wanted));
    return 0;
}
