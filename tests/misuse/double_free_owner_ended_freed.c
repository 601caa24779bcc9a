// expect: acre: free\(0x[0-9a-f]+\): (double free|not a live block)
// A block that a thread freed before it ended, freed again.
#include "misuse.h"

static void *take_and_free(void *unused) {
    (void)unused;
    void *block = take(48);
    free(block);
    return hide(block);
}

int main(void) {
    void *block = in_thread(take_and_free, NULL);
    free(hide(block));
    return survived();
}
