// With the prefix-only build both allocators live side by side: exits 0 if malloc is libc's.
#include <acre/acre.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    void *libcs = malloc(100);
    void *acres = acre_malloc(100);
    int ok = libcs != NULL && acres != NULL && !acre_owns(libcs) && acre_owns(acres);
    free(libcs);
    acre_free(acres);
    if (!ok) fputs("malloc and acre_malloc are not apart\n", stderr);
    return ok ? 0 : 1;
}
