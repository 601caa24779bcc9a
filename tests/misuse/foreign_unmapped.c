// expect: acre: free\(0x[0-9a-f]+\): foreign pointer
// Pages that the program mapped and unmapped.
#include "misuse.h"

int main(void) {
    void *pages = map_pages(10 * MIB);
    CHECK_EQ(munmap(pages, 10 * MIB), 0);
    free(hide(pages));
    return survived();
}
