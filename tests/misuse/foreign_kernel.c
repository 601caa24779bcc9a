// expect: acre: free\(0xffff888000000000\): foreign pointer
// An address of the kernel.
#include "misuse.h"

int main(void) {
    free(hide((void *)(uintptr_t)0xffff888000000000));
    return survived();
}
