// expect: acre: free\(0x[0-9a-f]+\): double free
// A zero-sized block, freed twice.
#include "misuse.h"

int main(void) {
    void *block = take(0);
    free(block);
    free(hide(block));
    return survived();
}
