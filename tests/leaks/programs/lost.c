// Blocks of three sizes that nothing points at.
// leaks normal: 3 lose, 1 lose_large, 1 lose_huge
// leaks strict: 3 lose, 1 lose_large, 1 lose_huge
// leaks minimal: 3 lose, 1 lose_large, 1 lose_huge
// leaks draconian: 3 lose, 1 lose_large, 1 lose_huge
#include "support.h"

static NOINLINE void lose(void) {
    for (int i = 0; i < 3; i++) malloc(100);
}
static NOINLINE void lose_large(void) { memset(malloc(1 << 20), 1, 1 << 20); }

// On the C library's stack frames lies now and then the upper half of some pointer, with zeros below it, which must not
// lead into the block.
static NOINLINE int has_zeros_below(const char *block, size_t size) {
    return (uintptr_t)block >> 32 != (uintptr_t)(block + size - 1) >> 32 || (uint32_t)(uintptr_t)block == 0;
}
static NOINLINE void lose_huge(void) {
    const size_t size = 100 << 20;
    char *block = malloc(size);
    if (!has_zeros_below(block, size)) return;
    malloc(size);  // elsewhere
    free(block);
}

int main(void) {
    LOSE(lose());
    LOSE(lose_large());
    LOSE(lose_huge());
    return 0;
}
