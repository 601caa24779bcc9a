// expect: acre: realloc\(0x[0-9a-f]+\): foreign pointer
// realloc of an array on the stack.
#include "misuse.h"

int main(void) {
    char array[100];
    hide(realloc(hide(array), hide_size(200)));
    return survived();
}
