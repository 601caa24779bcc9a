// expect: acre: free\(0x[0-9a-f]+\): foreign pointer
// Pages that the program mapped itself.
#include "misuse.h"

int main(void) {
    free(hide(map_pages(10 * MIB)));
    return survived();
}
