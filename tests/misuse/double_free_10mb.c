// expect: acre: free\(0x[0-9a-f]+\): (double free|not a live block)
// A block of 10 MiB, freed twice at once.
#include "misuse.h"

int main(void) {
    void *block = take(10 * MIB);
    free(block);
    free(hide(block));
    return survived();
}
