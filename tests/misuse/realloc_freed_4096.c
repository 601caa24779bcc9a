// expect: acre: realloc\(0x[0-9a-f]+\): (double free|not a live block)
// realloc of a freed block of 4096 bytes.
#include "misuse.h"

int main(void) {
    void *block = take(4096);
    void *neighbour = take(4096);
    free(block);
    hide(realloc(hide(block), hide_size(100000)));
    hide(neighbour);
    return survived();
}
