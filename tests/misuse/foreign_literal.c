// expect: acre: free\(0x[0-9a-f]+\): foreign pointer
// A string literal.
#include "misuse.h"

int main(void) {
    free(hide((void *)(uintptr_t)"a string literal"));
    return survived();
}
