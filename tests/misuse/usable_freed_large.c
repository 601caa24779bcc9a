// expect: acre: malloc_usable_size\(0x[0-9a-f]+\): (double free|not a live block)
// malloc_usable_size of a freed large block.
#include "misuse.h"

int main(void) {
    void *block = take(10 * MIB);
    free(block);
    hide_size(malloc_usable_size(hide(block)));
    return survived();
}
