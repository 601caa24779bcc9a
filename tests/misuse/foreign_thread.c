// expect: acre: free\(0x[0-9a-f]+\): foreign pointer
// A stack address, freed by a thread that never allocated.
#include "misuse.h"

int main(void) {
    char array[100];
    in_thread(free_in_thread, hide(array));
    return survived();
}
