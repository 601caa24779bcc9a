// expect: acre: free\(0x[0-9a-f]+\): double free
// Freed again with 10 other block(s) of its class freed in between.
#include "misuse.h"

int main(void) {
    enum { kOthers = 10 };
    void *others[kOthers];
    void *block = take(48);
    for (int i = 0; i < kOthers; i++) others[i] = take(48);
    free(block);
    for (int i = 0; i < kOthers; i++) free(others[i]);
    free(hide(block));
    return survived();
}
