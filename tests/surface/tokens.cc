// acre-test: not-preload
// Functions with allocation tokens are the plain ones without the hardened mode.
#include "tokens.h"

int main() {
    for (size_t size : {1, 24, 100, 1000, 5000, 30000, 32760, 40000, 3000000}) {
        for (bool pointers : {false, true}) {
            for (By by : {kByArgument, kByName}) check_calls(by, pointers, size, [](void *, size_t, bool) {});
        }
    }
    for (bool pointers : {false, true}) check_bad_calls(pointers);
    void *block = __alloc_token_malloc(48, TOKEN_POINTERS);
    free(block);
    CHECK(__alloc_token_0_malloc(48) == block);  // the list of freed blocks is one
    return 0;
}
