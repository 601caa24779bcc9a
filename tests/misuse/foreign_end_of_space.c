// expect: acre: free\(0x7ffffffff000\): foreign pointer
// The end of the address space of processes.
#include "misuse.h"

int main(void) {
    free(hide((void *)(uintptr_t)0x7ffffffff000));
    return survived();
}
