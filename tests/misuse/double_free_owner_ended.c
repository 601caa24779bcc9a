// expect: acre: free\(0x[0-9a-f]+\): double free
// A block whose owner has ended, freed twice.
#include "misuse.h"

int main(void) {
    void *block = in_thread(take_in_thread, (void *)(uintptr_t)48);
    free(block);
    free(hide(block));
    return survived();
}
