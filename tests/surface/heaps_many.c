// acre-test: not-preload
// 20 000 heaps at the same time, and then none of them: what is resident afterwards, and what a fork costs a child in
// pages that it has to copy, follow the heaps that live, not those that ever did.
#include "check.h"

#include <acre/heap.h>

enum { kHeaps = 20000, kFewHeaps = 100 };

// Pages that a child of a fork copied or asked for, which does nothing else.
static long faults_of_child(void) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(0);
    int status;
    struct rusage usage;
    CHECK_EQ(wait4(child, &status, 0, &usage), child);
    CHECK_EQ(status, 0);
    return usage.ru_minflt;
}

static void make(acre_heap_t **heaps, int count) {
    for (int i = 0; i < count; i++) {
        heaps[i] = acre_heap_create(NULL);
        CHECK(heaps[i] != NULL);
        void *block = hide(acre_heap_malloc(heaps[i], 100));
        CHECK(block != NULL);
        memset(block, i & 0xff, 100);
    }
}

// As good as at random.
static void destroy(acre_heap_t **heaps, int count) {
    const int step = 7919;  // a prime that divides neither count
    for (int i = 0, at = 0; i < count; i++, at = (at + step) % count) acre_heap_destroy(heaps[at]);
}

int main(void) {
    without_huge_pages();
    acre_heap_t **heaps = (acre_heap_t **)map_pages(kHeaps * sizeof *heaps);
    memset(heaps, 0, kHeaps * sizeof *heaps);
    make(heaps, kFewHeaps);
    destroy(heaps, kFewHeaps);
    const size_t before = resident_bytes();
    const long faults_before = faults_of_child();
    size_t first = 0;
    for (int round = 0; round < 3; round++) {
        make(heaps, kHeaps);
        CHECK_LE(resident_bytes(), before + kHeaps * 28 * KIB);
        CHECK_LE(faults_of_child(), faults_before + 2 * kHeaps);
        destroy(heaps, kHeaps);
        CHECK_LE(resident_bytes(), before + 40 * MIB);
        CHECK_LE(faults_of_child(), faults_before + 300);
        if (round == 0) first = resident_bytes();
        CHECK_LE(resident_bytes(), first + 2 * MIB);  // no more with each round
    }
    return 0;
}
