// acre-test: not-preload libs=pthread env=ACRE_CONF=hardened:true,prof:true,prof_sample:4096
// The same while the heap profiler takes many blocks for samples.
#include "tokens_apart.h"

int main() { return check_apart(); }
