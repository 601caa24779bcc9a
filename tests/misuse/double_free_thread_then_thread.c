// expect: acre: free\(0x[0-9a-f]+\): double free
// Freed by one thread, and by another after the first has ended.
#include "misuse.h"

int main(void) {
    void *block = take(48);
    in_thread(free_in_thread, block);
    in_thread(free_in_thread, block);
    return survived();
}
