// expect: acre: realloc\(0x[0-9a-f]+\): interior pointer
// realloc of a pointer into the middle of a large block.
#include "misuse.h"

int main(void) {
    char *block = (char *)take(300000);
    hide(realloc(hide(block + 8192), hide_size(600000)));
    return survived();
}
