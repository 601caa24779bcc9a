// expect: acre: free\(0x[0-9a-f]+\): interior pointer
// The middle of a block of a page.
#include "misuse.h"

int main(void) {
    char *block = (char *)take(4096);
    free(hide(block + 2048));
    return survived();
}
