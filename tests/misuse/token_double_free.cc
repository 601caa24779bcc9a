// expect: acre: free\(0x[0-9a-f]+\): double free
// acre-test: not-preload env=ACRE_CONF=hardened:true
// A block for a type with pointers is freed twice.
#include "misuse.h"

#include "../surface/tokens.h"

int main() {
    void *block = hide(__alloc_token_malloc(48, TOKEN_POINTERS));
    free(block);
    free(hide(block));
    return survived();
}
