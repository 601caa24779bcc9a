// expect: acre: realloc\(0x10\): foreign pointer
// realloc of a small number.
#include "misuse.h"

int main(void) {
    hide(realloc(hide((void *)0x10), hide_size(200)));
    return survived();
}
