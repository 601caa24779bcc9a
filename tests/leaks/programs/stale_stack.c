// A block whose only pointer is in the frame of a function that has returned, far below the stack pointer.
// leaks normal: 1 lose
// leaks strict: 1 lose
#include "support.h"

enum { kFrame = 400000 };

static NOINLINE void lose(void) {
    volatile char frame[kFrame];
    *(void *volatile *)((uintptr_t)(frame + 1000) & ~(uintptr_t)15) = malloc(100);
}

int main(void) {
    lose();
    wipe();
    return 0;
}
