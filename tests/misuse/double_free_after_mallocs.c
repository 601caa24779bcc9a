// expect: acre: free\(0x[0-9a-f]+\): double free
// Freed again after a thousand mallocs of other classes.
#include "misuse.h"

int main(void) {
    void *block = take(200);
    void *neighbour = take(200);
    free(block);
    for (size_t i = 0; i < 1000; i++) take(i % 2 ? 16 : 1000);
    free(hide(block));
    hide(neighbour);
    return survived();
}
