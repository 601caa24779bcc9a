// expect: acre: free\(0x[0-9a-f]+\): (double free|not a live block)
// realloc moved the block; the old pointer is freed.
#include "misuse.h"

int main(void) {
    void *block = take(48);
    void *neighbour = take(48);
    void *moved = hide(realloc(block, hide_size(100000)));
    CHECK(moved != NULL && moved != hide(block));
    free(hide(block));
    hide(neighbour);
    return survived();
}
