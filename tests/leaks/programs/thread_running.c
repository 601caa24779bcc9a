// A thread that runs on while the program ends, and what its stack, its registers and its variables lead to.
// leaks normal: none
// leaks strict: none
#include "waiting.h"

// Turns with its block in a register alone.
static void *turn_with_block(void *unused) {
    void *block = malloc(200);
    wipe();
    sem_post(&ready);
#if defined(__x86_64__)
    __asm__ volatile("mov %0, %%rbx\n movq $0, %0\n 1: jmp 1b" : "+m"(block) : : "rbx");
#else
    for (;;) __asm__ volatile("" : "+r"(block));
#endif
    return unused;
}

int main(void) {
    begin_waiting(wait_with_block, NULL, 0);
    begin_waiting(turn_with_block, NULL, 0);
    usleep(20000);
    return 0;
}
