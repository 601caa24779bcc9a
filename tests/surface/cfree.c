// acre-test: not-static
// acre-test: libs=dl
// cfree, which new programs cannot link against, is found by old binaries.
#include "check.h"

#include <dlfcn.h>

int main(void) {
    void (*cfree_function)(void *) = NULL;
    *(void **)&cfree_function = dlsym(RTLD_DEFAULT, "cfree");
    CHECK(cfree_function != NULL);
    cfree_function(NULL);
    free(must_malloc(1));
    const size_t before = resident_bytes();
    for (int i = 0; i < 100000; i++) {
        char *block = (char *)must_malloc((size_t)i % 3000 + 1);
        block[0] = 1;
        cfree_function(block);
    }
    for (int i = 0; i < 300; i++) {
        char *block = (char *)must_malloc(5 * MIB);
        memset(block, 1, MIB);
        cfree_function(block);
    }
    CHECK_LE(resident_bytes(), before + 32 * MIB);
    return 0;
}
