// expect: acre: free\(0xffffffffffffffff\): foreign pointer
// The address -1.
#include "misuse.h"

int main(void) {
    free(hide((void *)(uintptr_t)0xffffffffffffffff));
    return survived();
}
