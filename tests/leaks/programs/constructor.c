// What a constructor loses, before main, is no leak in the mode minimal.
// leaks minimal: 1 lose_in_main
// leaks normal: 1 lose_early, 1 lose_in_main
#include "support.h"

static NOINLINE void lose_early(void) { malloc(10); }
static NOINLINE void lose_in_main(void) { malloc(20); }

__attribute__((constructor)) static void early(void) { LOSE(lose_early()); }

int main(void) {
    LOSE(lose_in_main());
    return 0;
}
