// expect: ^acre: free\(0x[0-9a-f]+\): double free: the block of 112 bytes is free already$
// acre-test: env=ACRE_CONF=prof:true,prof_sample:0
// A double free of a sampled block is found.
#include "misuse.h"

int main(void) {
    void *block = must_malloc(100);
    void *other = must_malloc(100);
    free(block);
    free(hide(block));
    free(other);
    return 0;
}
