// expect: ^acre: free\(0x[0-9a-f]+\): double free: the block of 112 bytes is free already$
// acre-test: env=ACRE_CONF=junk:true
// A double free is found while blocks are filled, too.
#include "misuse.h"

int main(void) {
    void *block = must_malloc(100);
    free(block);
    free(hide(block));
    return 0;
}
