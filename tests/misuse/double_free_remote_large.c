// expect: acre: free\(0x[0-9a-f]+\): (double free|not a live block)
// A large block of another thread, freed twice.
#include "misuse.h"

int main(void) {
    void *block = in_thread(take_in_thread, (void *)(uintptr_t)300000);
    in_thread(free_in_thread, block);
    free(hide(block));
    return survived();
}
