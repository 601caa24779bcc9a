// expect: acre: realloc\(0x[0-9a-f]+\): interior pointer
// realloc of a pointer one byte past the start of a block.
#include "misuse.h"

int main(void) {
    char *block = (char *)take(48);
    hide(realloc(hide(block + 1), hide_size(100)));
    return survived();
}
