// expect: acre: free\(0x[0-9a-f]+\): wrong function: the block was allocated by operator new
// acre-test: not-preload env=ACRE_CONF=hardened:true
// An object for a type with pointers goes to free.
#include "misuse.h"

#include "../surface/tokens.h"

int main() {
    free(hide(__alloc_token__Znwm(48, TOKEN_POINTERS)));
    return survived();
}
