// expect: acre: free\(0x[0-9a-f]+\): interior pointer
// Sixteen bytes into a huge block.
#include "misuse.h"

int main(void) {
    char *block = (char *)take(200 * MIB);
    free(hide(block + 16));
    return survived();
}
