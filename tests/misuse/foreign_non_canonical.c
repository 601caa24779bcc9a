// expect: acre: free\(0xdeadbeefdeadbeef\): foreign pointer
// An address that no process can have.
#include "misuse.h"

int main(void) {
    free(hide((void *)(uintptr_t)0xdeadbeefdeadbeef));
    return survived();
}
