// expect: acre: free\(0x[0-9a-f]+\): foreign pointer
// The first thing that the program ever asks of the allocator.
#include "misuse.h"

int main(void) {
    static long first_call;
    free(hide(&first_call));
    return survived();
}
