// expect: ^acre: out of memory: a block of 18446744073709551615 bytes was refused, and xmalloc is set$
// acre-test: env=ACRE_CONF=xmalloc:true
#include "misuse.h"

int main(void) {
    hide(calloc(hide_size(SIZE_MAX / 2), hide_size(3)));
    return 0;
}
