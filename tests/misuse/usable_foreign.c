// expect: acre: malloc_usable_size\(0x[0-9a-f]+\): foreign pointer
// malloc_usable_size of a stack address.
#include "misuse.h"

int main(void) {
    char array[100];
    hide_size(malloc_usable_size(hide(array)));
    return survived();
}
