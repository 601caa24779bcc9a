// expect: acre: free\(0x[0-9a-f]+\): interior pointer
// The middle of a block of 10 MiB.
#include "misuse.h"

int main(void) {
    char *block = (char *)take(10 * MIB);
    free(hide(block + (5 * MIB)));
    return survived();
}
