// crowd N [leak]: so many threads come and go, eight at a time. Each leaves its blocks to others. What is resident
// after a tenth of them, without unused pages, is what is resident at the end. leak: a fault that has to be found.
#include <pthread.h>
#include <stdatomic.h>

#include "load.h"

enum { kAtOnce = 8, kShared = 512, kBlocks = 12 };

static _Atomic(struct load_block *) shared[kShared];

static int leaks;

static void *work(void *seed) {
    if (leaks) memset(malloc(200), 1, 200);
    uint64_t random = (uint64_t)(uintptr_t)seed * 2 + 1;
    for (int i = 0; i < kBlocks; ++i) {
        const uint64_t r = load_random(&random);
        struct load_block *made = load_resize(NULL, r % 16 == 0 ? r / 16 % 20000 : r / 16 % 500, r);
        CHECK(made != NULL);
        load_free(atomic_exchange(&shared[(r >> 40) % kShared], made));
    }
    return NULL;
}

int main(int count, char **words) {
    const long threads = count > 1 ? atol(words[1]) : 100000;
    leaks = count > 2;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    pthread_t at_once[kAtOnce];
    size_t first = 0;
    for (long made = 0; made < threads; made += kAtOnce) {
        for (int i = 0; i < kAtOnce; ++i) {
            CHECK(pthread_create(&at_once[i], &attributes, work, (void *)(made + i)) == 0);
        }
        for (int i = 0; i < kAtOnce; ++i) pthread_join(at_once[i], NULL);
        if (first == 0 && made >= threads / 10) first = load_resident_after_purge();
    }
    const size_t last = load_resident_after_purge();
    printf("resident %zu KiB, then %zu KiB\n", first >> 10, last >> 10);
    fflush(stdout);
    CHECK(last < first + first / 20 + (512 << 10));
    for (int i = 0; i < kShared; ++i) load_free(shared[i]);
    return 0;
}
