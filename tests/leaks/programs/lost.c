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
static NOINLINE void lose_huge(void) { malloc(100 << 20); }

int main(void) {
    LOSE(lose());
    LOSE(lose_large());
    LOSE(lose_huge());
    return 0;
}
