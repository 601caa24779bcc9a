// expect: acre: free\(0x[0-9a-f]+\): double free
// An aligned block, freed twice at once.
#include "misuse.h"

int main(void) {
    void *block = hide(aligned_alloc(1024, 3072));
    CHECK(block != NULL);
    free(block);
    free(hide(block));
    return survived();
}
