// expect: acre: free\(0x[0-9a-f]+\): double free
// Freed again after mallocs and frees of all other classes.
#include "misuse.h"

int main(void) {
    void *block = take(48);
    void *neighbour = take(48);
    free(block);
    for (size_t size = 64; size <= 100000; size += size / 4) {
        void *other = take(size);
        void *kept = take(size);
        free(other);
        hide(kept);
    }
    free(hide(block));
    hide(neighbour);
    return survived();
}
