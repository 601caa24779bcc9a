// expect: acre: free\(0x1000\): foreign pointer
// A page number mistaken for an address.
#include "misuse.h"

int main(void) {
    free(hide((void *)(uintptr_t)0x1000));
    return survived();
}
