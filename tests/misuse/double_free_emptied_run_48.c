// expect: acre: free\(0x[0-9a-f]+\): (double free|not a live block)
// All blocks of a class are freed, so that its runs are empty; then one of them again.
#include "misuse.h"

int main(void) {
    enum { kBlocks = 2000 };
    static void *blocks[kBlocks];
    for (int i = 0; i < kBlocks; i++) blocks[i] = take(48);
    for (int i = 0; i < kBlocks; i++) free(blocks[i]);
    free(hide(blocks[kBlocks / 3]));
    return survived();
}
