// A thread whose stack is static memory, below which lie other variables.
// leaks normal: none
#include "waiting.h"

enum { kStackBytes = 1 << 17 };

static struct {
    void *volatile below;
    char stack[kStackBytes] __attribute__((aligned(4096)));
} memory;

int main(void) {
    LOSE(memory.below = malloc(100));
    begin_waiting(wait_with_block, memory.stack, sizeof memory.stack);
    return 0;
}
