// expect: acre: free\(0x[0-9a-f]+\): foreign pointer
// expect: the handler begins
// expect: acre: free\(0x[0-9a-f]+\): double free
// The handler misuses a block itself, and is not called for that.
#include "abort_handler.h"

static char global[64];

static void free_foreign(int number) {
    fprintf(stderr, "the handler begins\n");
    free(hide(global + 16));
    _exit(1);
}

int main(void) {
    handle_abort();
    CHECK(signal(SIGABRT, free_foreign) != SIG_ERR);
    void *block = must_malloc(48);
    free(block);
    free(hide(block));
    return survived();
}
