// Pointers that are not written as such are missed, and their blocks are taken for leaks: docs/leaks.md says so.
// leaks normal: 1 keep_turned, 1 keep_high, 1 keep_unaligned
#include "support.h"

static uintptr_t turned, high;
static char packed[16];

static NOINLINE void keep_turned(void) { turned = ~(uintptr_t)malloc(10); }
static NOINLINE void keep_high(void) { high = (uintptr_t)malloc(10) | (uintptr_t)0xab << 56; }
static NOINLINE void keep_unaligned(void) {
    void *block = malloc(10);
    memcpy(packed + 1, &block, sizeof block);
}

int main(void) {
    LOSE(keep_turned());
    LOSE(keep_high());
    LOSE(keep_unaligned());
    return 0;
}
