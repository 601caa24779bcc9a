// expect: acre: free\(0x[0-9a-f]+\): (double free|not a live block)
// Freed again after malloc_trim returned the pages.
#include "misuse.h"

int main(void) {
    enum { kBlocks = 100000 };
    static void *blocks[kBlocks];
    for (int i = 0; i < kBlocks; i++) blocks[i] = take(200);
    for (int i = 0; i < kBlocks; i++) free(blocks[i]);
    malloc_trim(0);
    free(hide(blocks[kBlocks / 2]));
    return survived();
}
