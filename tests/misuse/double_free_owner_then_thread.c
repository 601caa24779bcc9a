// expect: acre: free\(0x[0-9a-f]+\): double free
// Freed by its owner, who lives on, and then by another thread.
#include "misuse.h"

int main(void) {
    void *block = take(48);
    void *neighbour = take(48);
    free(block);
    in_thread(free_in_thread, block);
    hide(neighbour);
    return survived();
}
