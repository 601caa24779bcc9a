// acre-test: not-preload libs=pthread env=ACRE_CONF=hardened:true
// Allocation tokens in the hardened mode, for a program that was compiled without -falloc-token-max.
#include "tokens_apart.h"

int main() { return check_apart(); }
