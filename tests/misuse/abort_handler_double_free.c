// expect: acre: free\(0x[0-9a-f]+\): double free: the block of 48 bytes is free already
// expect: the handler is done
#include "abort_handler.h"

int main(void) {
    handle_abort();
    void *block = must_malloc(48);
    free(block);
    free(hide(block));
    return survived();
}
