// expect: acre: free\(0x[0-9a-f]+\): interior pointer
// A page into a block of several pages.
#include "misuse.h"

int main(void) {
    char *block = (char *)take(20000);
    free(hide(block + 4096));
    return survived();
}
