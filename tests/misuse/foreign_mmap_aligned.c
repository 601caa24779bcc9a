// expect: acre: free\(0x[0-9a-f]+\): foreign pointer
// Pages that the program mapped itself, at a round address.
#include "misuse.h"

int main(void) {
    char *pages = (char *)map_pages(32 * MIB);
    free(hide(pages + (16 * MIB - ((uintptr_t)pages & (16 * MIB - 1)))));
    return survived();
}
