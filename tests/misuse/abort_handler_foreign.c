// expect: acre: free\(0x[0-9a-f]+\): foreign pointer
// expect: the handler is done
// The first call of all: no thread has a heap yet.
#include "abort_handler.h"

int main(void) {
    static char global[64];
    handle_abort();
    free(hide(global + 16));
    return survived();
}
