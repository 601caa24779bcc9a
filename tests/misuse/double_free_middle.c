// expect: acre: free\(0x[0-9a-f]+\): double free
// Freed again with frees of its class before and after the first time.
#include "misuse.h"

int main(void) {
    enum { kBlocks = 3000 };
    static void *blocks[kBlocks];
    for (int i = 0; i < kBlocks; i++) blocks[i] = take(48);
    for (int i = 0; i < kBlocks; i += 2) free(blocks[i]);
    free(hide(blocks[kBlocks / 2]));
    return survived();
}
