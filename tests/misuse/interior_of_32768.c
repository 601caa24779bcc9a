// expect: acre: free\(0x[0-9a-f]+\): interior pointer
// The middle of the biggest small block.
#include "misuse.h"

int main(void) {
    char *block = (char *)take(32768);
    free(hide(block + 16384));
    return survived();
}
