// expect: acre: free\(0x[0-9a-f]+\): double free
// A block of 4096 bytes, freed twice at once.
#include "misuse.h"

int main(void) {
    void *block = take(4096);
    free(block);
    free(hide(block));
    return survived();
}
