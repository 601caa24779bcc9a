// expect: acre: free\(0x[0-9a-f]+\): foreign pointer
// A thread-local variable.
#include "misuse.h"

static __thread long array[10];

int main(void) {
    free(hide(array));
    return survived();
}
