// expect: acre: free\(0x[0-9a-f]+\): foreign pointer
// A global variable.
#include "misuse.h"

static long array[100];

int main(void) {
    free(hide(array));
    return survived();
}
