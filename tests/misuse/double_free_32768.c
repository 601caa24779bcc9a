// expect: acre: free\(0x[0-9a-f]+\): double free
// A block of 32768 bytes, freed twice at once.
#include "misuse.h"

int main(void) {
    void *block = take(32768);
    free(block);
    free(hide(block));
    return survived();
}
