// expect: acre: free\(0x[0-9a-f]+\): (double free|not a live block)
// A large block freed again after many others of all sizes.
#include "misuse.h"

int main(void) {
    enum { kBlocks = 50 };
    void *others[kBlocks];
    void *block = take(150000);
    for (size_t i = 0; i < kBlocks; i++) others[i] = take(i * 7000 + 1);
    free(block);
    for (int i = 0; i < kBlocks; i++) free(others[i]);
    free(hide(block));
    return survived();
}
