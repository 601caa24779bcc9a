// expect: acre: (free|free_sized)\(0x[0-9a-f]+\): double free
// acre-test: not-preload
// A block freed twice by free_sized.
#include "misuse.h"

extern void free_sized(void *, size_t);

int main(void) {
    void *block = take(48);
    free_sized(block, 48);
    free_sized(hide(block), 48);
    return survived();
}
