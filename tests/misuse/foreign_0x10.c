// expect: acre: free\(0x10\): foreign pointer
// The number 16.
#include "misuse.h"

int main(void) {
    free(hide((void *)(uintptr_t)0x10));
    return survived();
}
