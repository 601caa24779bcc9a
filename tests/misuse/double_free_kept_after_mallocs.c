// expect: acre: free\(0x[0-9a-f]+\): double free
// As double_free_kept.c, but some of the blocks that wait have been handed out again.
#include "misuse.h"

int main(void) {
    void *blocks[40];
    for (int i = 0; i < 40; ++i) blocks[i] = take(8192);
    for (int i = 0; i < 6; ++i) free(blocks[5 * i]);
    for (int i = 0; i < 3; ++i) take(8192);
    free(hide(blocks[0]));
    return survived();
}
