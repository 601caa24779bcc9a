// expect: ^acre: out of memory: a block of 1099511627776 bytes was refused, and xmalloc is set$
// acre-test: env=ACRE_CONF=xmalloc:true
// What can be done without, such as growth where a block is, may fail; the program ends when all has failed.
#include "misuse.h"

int main(void) {
    void *block = must_malloc(100 * MIB);
    limit_address_space(mapped_bytes() + 64 * MIB);
    hide(realloc(block, hide_size(1024 * GIB)));
    return 0;
}
