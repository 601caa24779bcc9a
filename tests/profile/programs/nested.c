// Allocates at a place that is inlined, in two sizes of heap. usage: nested [BLOCKS [DEPTH]]
#include <stdlib.h>

void *kept[100000];

__attribute__((always_inline)) static inline void *inlined_site(void) { return malloc(2000); }
__attribute__((noinline)) void *outer_site(void) {
    void *volatile block = inlined_site();
    return block;
}
__attribute__((noinline)) void deeper(int depth, int blocks) {
    if (depth > 0) {
        deeper(depth - 1, blocks);
    } else {
        for (int i = 0; i < blocks; i++) kept[i] = outer_site();
    }
    __asm__ volatile("");
}

int main(int argc, char **argv) {
    deeper(argc > 2 ? atoi(argv[2]) : 3, argc > 1 ? atoi(argv[1]) : 1000);
    return 0;
}
