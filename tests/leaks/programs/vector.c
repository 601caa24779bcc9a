// A thread that has the only pointer to a block in the upper half of a vector register.
// leaks normal: none
#include "support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { kMask = 0x5a5a5a5a };
static atomic_int ready;

static NOINLINE uintptr_t masked_block(void) { return (uintptr_t)malloc(100) ^ kMask; }

// Spins, with the address nowhere else: the masked one is in its argument's register and slot.
__attribute__((target("avx"))) static NOINLINE void hold(uintptr_t masked) {
    __asm__ volatile(
        "xorq %2, %0\n\t"
        "vmovq %0, %%xmm0\n\t"
        "xorl %k0, %k0\n\t"
        "vxorps %%ymm1, %%ymm1, %%ymm1\n\t"
        "vinsertf128 $1, %%xmm0, %%ymm1, %%ymm1\n\t"
        "vxorps %%xmm0, %%xmm0, %%xmm0\n\t"
        "movl $1, %1\n\t"
        "1: pause\n\t"
        "jmp 1b"
        : "+r"(masked), "=m"(ready)
        : "i"(kMask)
        : "xmm0", "xmm1", "memory");
}
static void *run(void *unused) {
    uintptr_t masked;
    LOSE(masked = masked_block());
    hold(masked);
    return unused;
}

int main(void) {
    if (!__builtin_cpu_supports("avx")) return 77;
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0) return 1;
    while (atomic_load(&ready) == 0) usleep(1000);
    return 0;
}
#else
int main(void) { return 77; }
#endif
