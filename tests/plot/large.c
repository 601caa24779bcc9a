// Allocates and frees at random, by several threads: large THREADS EVENTS. What lives grows and shrinks in waves, some
// blocks stay. Events are allocations and frees of all threads.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define ALONE __attribute__((noinline))
enum { kSlots = 20000 };

static long events_each;

static uint32_t next(uint32_t *random) { return *random = *random * 1664525 + 1013904223; }

ALONE static void *small(uint32_t n) { void *block = malloc(16 + n % 240); __asm__ volatile(""); return block; }
ALONE static void *medium(uint32_t n) { void *block = malloc(256 + n % 3840); __asm__ volatile(""); return block; }
ALONE static void *large(uint32_t n) { void *block = malloc(4096 + n % 61440); __asm__ volatile(""); return block; }
ALONE static void *choose(uint32_t n) {
    void *block = n % 64 == 0 ? large(n >> 6) : n % 8 == 0 ? medium(n >> 6) : small(n >> 6);
    __asm__ volatile("");
    return block;
}

static void *work(void *seed) {
    void **slots = calloc(kSlots, sizeof *slots);
    uint32_t random = (uint32_t)(uintptr_t)seed * 2654435761u;
    for (long done = 0; done < events_each;) {
        // Six waves, in which between a tenth and all of the slots are in use.
        long wave = (done / (events_each / 600 + 1)) % 100, part = wave < 50 ? wave : 100 - wave;
        uint32_t n = next(&random), at = (n >> 8) % kSlots;
        int is_wanted = (long)at < kSlots / 10 + part * (kSlots * 9 / 10) / 50;
        if (slots[at]) {
            if (at % 50 == 7 && is_wanted) { done++; free(small(n)); done++; continue; }  // this one stays
            free(slots[at]);
            slots[at] = NULL;
            done++;
        }
        if (is_wanted) {
            slots[at] = choose(next(&random) >> 4);
            done++;
        }
    }
    return slots;
}

int main(int count, char **words) {
    int threads = count > 2 ? atoi(words[1]) : 1;
    if (threads < 1 || threads > 64) return 2;
    events_each = count > 2 ? atol(words[2]) / threads : 1000;
    pthread_t all[64];
    for (long at = 0; at < threads; at++) pthread_create(&all[at], NULL, work, (void *)(at + 1));
    for (int at = 0; at < threads; at++) pthread_join(all[at], NULL);
    return 0;
}
