// acre-test: not-hardened
// Internal waste is at most 12.5 % above 128 bytes, and never more than 15 bytes below.
// In the hardened mode usable sizes are those asked for, so there are no classes to walk through.
#include "check.h"

#include <malloc.h>

static void check_waste(size_t request) {
    void *block = must_malloc(request);
    const size_t usable = malloc_usable_size(block);
    CHECK_GE(usable, request);
    if (request > 128) CHECK_LE((usable - request) * 8, usable);
    else CHECK_LE(usable - request, request <= 8 ? 8 : 15);
    free(block);
}

int main(void) {
    for (size_t request = 1; request <= 200000; request++) check_waste(request);
    for (size_t request = 200000; request <= 64 * MIB; request += request / 301 + 1) {
        check_waste(request);
    }
    // The worst places are just above a class: look there on purpose.
    for (size_t request = 129; request <= 64 * MIB;) {
        void *block = must_malloc(request);
        const size_t usable = malloc_usable_size(block);
        free(block);
        check_waste(usable);
        check_waste(usable + 1);
        request = usable + 1;
        if (request > 4 * MIB) request += request / 64;
    }
    return 0;
}
