// expect: acre: realloc\(0x[0-9a-f]+\): written past its end
// acre-test: not-preload env=ACRE_CONF=hardened:true
// A block for a type with pointers is written past its end, and grows.
#include "misuse.h"

#include "../surface/tokens.h"

int main() {
    char *block = static_cast<char *>(hide(__alloc_token_malloc(40, TOKEN_POINTERS)));
    block[40] = 1;
    free(__alloc_token_realloc(block, 400, TOKEN_POINTERS));
    return survived();
}
