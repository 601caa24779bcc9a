// expect: acre: free\(0x[0-9a-f]+\): double free
// A block from calloc, still all zero, freed twice at once.
#include "misuse.h"

int main(void) {
    void *block = hide(calloc(1, hide_size(64)));
    CHECK(block != NULL);
    free(block);
    free(hide(block));
    return survived();
}
