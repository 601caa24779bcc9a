// expect: acre: free\(0x[0-9a-f]+\): (double free|not a live block|foreign pointer: .*returned its pages)
// A huge block, whose pages went back to the system, freed twice.
#include "misuse.h"

int main(void) {
    void *block = take(200 * MIB);
    free(block);
    free(hide(block));
    return survived();
}
