// expect: acre: free\(0x[0-9a-f]+\): interior pointer
// The last byte of a block.
#include "misuse.h"

int main(void) {
    char *block = (char *)take(1000);
    free(hide(block + 999));
    return survived();
}
