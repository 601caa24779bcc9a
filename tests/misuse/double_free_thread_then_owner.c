// expect: acre: free\(0x[0-9a-f]+\): double free
// Freed by another thread, and then by its owner.
#include "misuse.h"

int main(void) {
    void *block = take(48);
    in_thread(free_in_thread, block);
    free(hide(block));
    return survived();
}
