// expect: acre: realloc\(0x[0-9a-f]+\): interior pointer
// realloc of a pointer into the middle of a block.
#include "misuse.h"

int main(void) {
    char *block = (char *)take(1000);
    hide(realloc(hide(block + 512), hide_size(2000)));
    return survived();
}
