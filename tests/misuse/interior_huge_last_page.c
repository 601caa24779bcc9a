// expect: acre: free\(0x[0-9a-f]+\): interior pointer
// The last page of a huge block.
#include "misuse.h"

int main(void) {
    char *block = (char *)take(200 * MIB);
    free(hide(block + (200 * MIB - 4096)));
    return survived();
}
