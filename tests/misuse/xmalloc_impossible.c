// expect: ^acre: out of memory: a block of 9223372036854775808 bytes was refused, and xmalloc is set$
// acre-test: env=ACRE_CONF=xmalloc:true
#include "misuse.h"

int main(void) {
    free(must_malloc(100));
    hide(malloc(hide_size(SIZE_MAX / 2 + 1)));
    return 0;
}
