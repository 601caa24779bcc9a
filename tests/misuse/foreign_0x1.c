// expect: acre: free\(0x1\): foreign pointer
// The number 1.
#include "misuse.h"

int main(void) {
    free(hide((void *)(uintptr_t)0x1));
    return survived();
}
