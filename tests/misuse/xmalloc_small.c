// expect: ^acre: out of memory: a block of up to 32768 bytes was refused, and xmalloc is set$
// acre-test: env=ACRE_CONF=xmalloc:true
// Small blocks until the address space is used up.
#include "misuse.h"

int main(void) {
    limit_address_space(mapped_bytes() + 64 * MIB);
    for (;;) hide(malloc(hide_size(1000)));
}
