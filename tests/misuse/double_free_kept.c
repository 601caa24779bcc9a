// expect: acre: free\(0x[0-9a-f]+\): double free
// Blocks of 8192 bytes, few to a run: those freed in runs that are no longer owned wait on the private list.
#include "misuse.h"

int main(void) {
    void *blocks[40];
    for (int i = 0; i < 40; ++i) blocks[i] = take(8192);
    for (int i = 0; i < 6; ++i) free(blocks[5 * i]);
    free(hide(blocks[5]));
    return survived();
}
