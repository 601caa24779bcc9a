// expect: acre: free\(0x[0-9a-f]+\): (double free|not a live block)
// A block of another thread, freed twice with 1000 remote frees in between (which may
// empty its run).
#include "misuse.h"

enum { kOthers = 1000 };
static void *others[kOthers];

static void *free_all(void *block) {
    free(block);
    for (int i = 0; i < kOthers; i++) free(others[i]);
    free(hide(block));
    return NULL;
}

int main(void) {
    for (int i = 0; i < kOthers / 2; i++) others[i] = take(48);
    void *block = take(48);
    for (int i = kOthers / 2; i < kOthers; i++) others[i] = take(48);
    in_thread(free_all, block);
    return survived();
}
