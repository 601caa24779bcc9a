// expect: acre: malloc_usable_size\(0x[0-9a-f]+\): (double free|not a live block)
// malloc_usable_size of a freed block.
#include "misuse.h"

int main(void) {
    void *block = take(48);
    void *neighbour = take(48);
    free(block);
    hide_size(malloc_usable_size(hide(block)));
    hide(neighbour);
    return survived();
}
