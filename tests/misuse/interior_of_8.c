// expect: acre: free\(0x[0-9a-f]+\): interior pointer
// The middle of a block of 8 bytes.
#include "misuse.h"

int main(void) {
    char *block = (char *)take(8);
    free(hide(block + 4));
    return survived();
}
