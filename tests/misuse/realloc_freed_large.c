// expect: acre: realloc\(0x[0-9a-f]+\): (double free|not a live block)
// realloc of a freed large block.
#include "misuse.h"

int main(void) {
    void *block = take(200000);
    free(block);
    hide(realloc(hide(block), hide_size(400000)));
    return survived();
}
