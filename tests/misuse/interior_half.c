// expect: acre: free\(0x[0-9a-f]+\): interior pointer
// The middle of a block.
#include "misuse.h"

int main(void) {
    char *block = (char *)take(48);
    free(hide(block + 24));
    return survived();
}
