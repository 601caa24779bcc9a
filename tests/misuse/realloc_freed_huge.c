// expect: acre: realloc\(0x[0-9a-f]+\): (double free|not a live block|foreign pointer: .*returned its pages)
// realloc of a freed huge block.
#include "misuse.h"

int main(void) {
    void *block = take(200 * MIB);
    free(block);
    hide(realloc(hide(block), hide_size(400 * MIB)));
    return survived();
}
