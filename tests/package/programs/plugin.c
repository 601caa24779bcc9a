// A shared object with the archive inside: libacre.a has to be position independent.
#include <acre/acre.h>
#include <string.h>

int plugin_works(void) {
    char *block = acre_malloc(100);
    if (block == NULL) return 0;
    memset(block, 1, 100);
    int owned = acre_owns(block);
    acre_free(block);
    return owned;
}
