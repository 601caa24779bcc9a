// acre-test: libs=pthread
// Whatever a program writes into its blocks, its frees are right: also where a live block holds what
// a free block of its run held, links of the allocator's own lists included.
#include "check.h"

#include <pthread.h>

enum { kBlocks = 2000, kWords = 8 };

static uintptr_t *blocks[kBlocks];
static uintptr_t copied[kBlocks][kWords];

// Reads what the allocator keeps in a free block. The neighbours are alive, so its page is there.
static void copy_free_block(int to, const volatile uintptr_t *from, size_t words) {
    for (size_t i = 0; i < words; i++) copied[to][i] = from[i];
}

static void *free_odd(void *unused) {
    for (int i = 1; i < kBlocks; i += 2) free(blocks[i]);
    return unused;
}

static void one_size(size_t size, int shift, int remote) {
    const size_t words = size / sizeof(uintptr_t) < kWords ? size / sizeof(uintptr_t) : kWords;
    for (int i = 0; i < kBlocks; i++) {
        blocks[i] = (uintptr_t *)must_malloc(size);
        memset(blocks[i], 0, size);
    }
    if (remote) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, free_odd, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    } else {
        free_odd(NULL);
    }
    for (int i = 1; i < kBlocks; i += 2) {
        copy_free_block(i, (uintptr_t *)hide(blocks[i]), words);
        blocks[i] = NULL;
    }
    for (int i = 0; i < kBlocks; i += 2) {
        const int from = (i + 2 * shift + 1) % kBlocks | 1;
        for (size_t w = 0; w < words; w++) blocks[i][w] = copied[from][w];
        hide(blocks[i]);
    }
    for (int i = 0; i < kBlocks; i += 2) free(blocks[i]);
}

// Blocks that hold addresses of blocks, as programs' lists do, and every kind of number.
static void programs_own(size_t size, int kind) {
    uint64_t random = (uint64_t)kind + size;
    for (int i = 0; i < kBlocks; i++) {
        blocks[i] = (uintptr_t *)must_malloc(size);
        for (size_t w = 0; w < size / sizeof(uintptr_t); w++) {
            switch (kind) {
                case 0: blocks[i][w] = i > 0 ? (uintptr_t)blocks[i - 1] : 0; break;
                case 1: blocks[i][w] = (uintptr_t)blocks[i]; break;
                case 2: blocks[i][w] = ~(uintptr_t)0; break;
                case 3: blocks[i][w] = (uintptr_t)next_random(&random); break;
                case 4: blocks[i][w] = (uintptr_t)blocks[i] >> 12; break;
                default: blocks[i][w] = (uintptr_t)(i + kind); break;
            }
        }
        hide(blocks[i]);
    }
    for (int i = 0; i < kBlocks; i++) free(blocks[(i * 7 + 3) % kBlocks]);
}

int main(void) {
    const size_t sizes[] = {8, 16, 48, 64, 200, 1000, 4096};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int shift = -1; shift <= 5; shift++) {
            one_size(sizes[s], shift + kBlocks, 0);
            one_size(sizes[s], shift + kBlocks, 1);
        }
        for (int kind = 0; kind < 40; kind++) programs_own(sizes[s], kind);
    }
    return 0;
}
