// A stack behind a guard of the kernel's, in a mapping with other memory below: that is a root, and what is on the stack
// below the stack pointer is not.
// leaks normal: 1 lose
#include "waiting.h"

#include <sys/mman.h>

enum { kBytes = 1 << 20, kInstallGuard = 102 };  // MADV_GUARD_INSTALL, since Linux 6.13

static NOINLINE void lose(void) {
    volatile char frame[100000];
    *(void *volatile *)((uintptr_t)(frame + 1000) & ~(uintptr_t)15) = malloc(100);
}

static void *lose_and_wait(void *unused) {
    LOSE(lose());
    return wait_with_block(unused);
}

int main(void) {
    char *memory = mmap(NULL, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory + kBytes - 65536, 65536, kInstallGuard) != 0) return 77;
    LOSE(*(void *volatile *)memory = malloc(300));
    begin_waiting(lose_and_wait, memory + kBytes, kBytes);
    return 0;
}
