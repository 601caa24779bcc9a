// expect: acre: free\(0x[0-9a-f]+\): interior pointer
// The middle of a large block.
#include "misuse.h"

int main(void) {
    char *block = (char *)take(100 * KIB);
    free(hide(block + (50 * KIB)));
    return survived();
}
