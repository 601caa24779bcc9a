// expect: acre: free\(0x[0-9a-f]+\): double free
// A block of 16 bytes, freed twice at once.
#include "misuse.h"

int main(void) {
    void *block = take(16);
    free(block);
    free(hide(block));
    return survived();
}
