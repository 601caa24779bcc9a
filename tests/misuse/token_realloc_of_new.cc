// expect: acre: realloc\(0x[0-9a-f]+\): wrong function: the block was allocated by operator new\[\]
// acre-test: not-preload env=ACRE_CONF=hardened:true
// An array goes to realloc, which would move it to the blocks for types with pointers.
#include "misuse.h"

#include "../surface/tokens.h"

int main() {
    free(__alloc_token_realloc(hide(__alloc_token__Znam(48, TOKEN_PLAIN)), 48, TOKEN_POINTERS));
    return survived();
}
