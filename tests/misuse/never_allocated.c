// expect: acre: free\(0x[0-9a-f]+\): (double free|not a live block|foreign pointer)
// A place behind all blocks of its class that was never handed out.
#include "misuse.h"

int main(void) {
    char *highest = NULL;
    for (int i = 0; i < 100; i++) {
        char *block = (char *)take(48);
        if (block > highest) highest = block;
    }
    free(hide(highest + 48));
    return survived();
}
