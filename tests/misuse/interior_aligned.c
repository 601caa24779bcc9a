// expect: acre: free\(0x[0-9a-f]+\): interior pointer
// The middle of an aligned block.
#include "misuse.h"

int main(void) {
    char *block = (char *)hide(aligned_alloc(64 * KIB, 64 * KIB));
    CHECK(block != NULL);
    free(hide(block + 4096));
    return survived();
}
