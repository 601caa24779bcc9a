// expect: acre: free\(0x[0-9a-f]+\): interior pointer
// The middle of a block of another thread.
#include "misuse.h"

int main(void) {
    char *block = (char *)in_thread(take_in_thread, (void *)(uintptr_t)1000);
    free(hide(block + 16));
    return survived();
}
