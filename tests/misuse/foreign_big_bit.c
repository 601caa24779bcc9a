// expect: acre: free\(0x1000000000000000\): foreign pointer
// A wild number.
#include "misuse.h"

int main(void) {
    free(hide((void *)(uintptr_t)0x1000000000000000));
    return survived();
}
