// expect: acre: malloc: write after free: byte 8 of the free block of [0-9]+ bytes
// acre-test: not-preload env=ACRE_CONF=hardened:true
// A block for a type with pointers is written after its free.
#include "misuse.h"

#include "../surface/tokens.h"

int main() {
    char *block = static_cast<char *>(hide(__alloc_token_malloc(100, TOKEN_POINTERS)));
    free(block);
    block[8] = 1;
    for (int i = 0; i < 100000; i++) free(hide(__alloc_token_malloc(100, TOKEN_POINTERS)));
    return survived();
}
