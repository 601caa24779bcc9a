// expect: acre: free\(0x[0-9a-f]+\): double free
// realloc to 0 freed the block; it is freed again.
#include "misuse.h"

int main(void) {
    void *block = take(48);
    CHECK(hide(realloc(block, hide_size(0))) == NULL);
    free(hide(block));
    return survived();
}
