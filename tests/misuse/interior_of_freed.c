// expect: acre: free\(0x[0-9a-f]+\): (interior pointer|double free|not a live block)
// The middle of a block that is free.
#include "misuse.h"

int main(void) {
    char *block = (char *)take(1000);
    void *neighbour = take(1000);
    free(block);
    free(hide(block + 16));
    hide(neighbour);
    return survived();
}
