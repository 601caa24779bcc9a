// A block of which a page can be neither read nor written, as thread stacks made by malloc have: the rest counts.
// leaks normal: none
#include "support.h"

#include <sys/mman.h>

static char *stack;

static NOINLINE void keep(void) {
    void *block = NULL;
    if (posix_memalign(&block, 4096, 8 * 4096) != 0) exit(1);
    stack = block;
    void *held = malloc(10);
    memcpy(stack + 5 * 4096, &held, sizeof held);
    mprotect(stack, 4096, PROT_NONE);
}

int main(void) {
    LOSE(keep());
    return 0;
}
