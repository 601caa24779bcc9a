// expect: acre: free\(0x[0-9a-f]+\): double free
// A block of another thread, freed twice with ten remote frees in between.
#include "misuse.h"

enum { kOthers = 10 };
static void *others[kOthers];

static void *free_all(void *block) {
    free(block);
    for (int i = 0; i < kOthers; i++) free(others[i]);
    free(hide(block));
    return NULL;
}

int main(void) {
    void *block = take(1000);
    for (int i = 0; i < kOthers; i++) others[i] = take(1000);
    in_thread(free_all, block);
    return survived();
}
