// expect: acre: free\(0x[0-9a-f]+\): foreign pointer
// The program break's memory, got by the program itself.
#include "misuse.h"

int main(void) {
    void *pages = sbrk(64 * 1024);
    CHECK(pages != (void *)-1);
    free(hide(pages));
    return survived();
}
