// expect: acre: free\(0x[0-9a-f]+\): foreign pointer
// An array on the stack.
#include "misuse.h"

int main(void) {
    char array[100];
    free(hide(array));
    return survived();
}
