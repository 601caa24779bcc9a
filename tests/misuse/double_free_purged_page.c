// expect: acre: free\(0x[0-9a-f]+\): (double free|not a live block: nothing is allocated here)
// Freed again after malloc_trim returned its page, while other blocks of its run live.
#include "misuse.h"

int main(void) {
    enum { kBlocks = 100000 };
    static void *blocks[kBlocks];
    for (int i = 0; i < kBlocks; i++) blocks[i] = take(200);
    for (int i = 0; i < kBlocks; i++) {
        if (i % 100 != 0) free(blocks[i]);
    }
    malloc_trim(0);
    for (int i = kBlocks / 2; i < kBlocks; i++) {
        if (i % 100 == 50) free(hide(blocks[i]));
    }
    return survived();
}
