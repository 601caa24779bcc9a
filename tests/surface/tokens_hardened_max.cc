// acre-test: not-preload libs=pthread env=ACRE_CONF=hardened:true,alloc_token_max:8
// The same for a program that was compiled with -falloc-token-max=8.
#define TOKEN_PLAIN 3
#define TOKEN_POINTERS 4
#include "tokens_apart.h"

int main() { return check_apart(); }
