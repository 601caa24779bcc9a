// expect: acre: malloc_usable_size\(0x[0-9a-f]+\): interior pointer
// malloc_usable_size of a pointer into a block.
#include "misuse.h"

int main(void) {
    char *block = (char *)take(1000);
    hide_size(malloc_usable_size(hide(block + 100)));
    return survived();
}
