// expect: acre: free\(0x[0-9a-f]+\): (double free|not a live block)
// A large block, freed twice at once.
#include "misuse.h"

int main(void) {
    void *block = take(100 * KIB);
    free(block);
    free(hide(block));
    return survived();
}
