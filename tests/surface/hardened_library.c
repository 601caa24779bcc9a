// The hardened mode is on in libacre-hardened.so, without an option, and in no other library. In the mode a block's usable
// size is what was asked for.
#include "check.h"

#include <malloc.h>

int main(void) {
    void *block = must_malloc(100);
    CHECK_EQ(malloc_usable_size(block) == 100, getenv("ACRE_TEST_HARDENED") != NULL);
    free(block);
    return 0;
}
