// expect: acre: (free|realloc)\(0x[0-9a-f]+\): (double free|not a live block)
// A freed block is freed again by realloc to 0.
#include "misuse.h"

int main(void) {
    void *block = take(48);
    free(block);
    hide(realloc(hide(block), hide_size(0)));
    return survived();
}
