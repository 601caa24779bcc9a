// expect: acre: free\(0x[0-9a-f]+\): foreign pointer
// A function.
#include "misuse.h"

int main(void) {
    free(hide((void *)(uintptr_t)&survived));
    return survived();
}
