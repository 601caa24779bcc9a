// expect: acre: free\(0x800000000000\): foreign pointer
// The first address that processes cannot have.
#include "misuse.h"

int main(void) {
    free(hide((void *)(uintptr_t)0x800000000000));
    return survived();
}
