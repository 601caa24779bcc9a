// expect: acre: free\(0x[0-9a-f]+\): interior pointer
// The middle of a block whose size is a power of two.
#include "misuse.h"

int main(void) {
    char *block = (char *)take(1024);
    free(hide(block + 512));
    return survived();
}
