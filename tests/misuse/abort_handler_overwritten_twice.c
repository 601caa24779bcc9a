// expect: acre: a list of free blocks was overwritten
// expect: the handler begins
// While the handler runs, a thread that it waits for comes upon the same list. The program ends without it.
#include "abort_handler.h"

static void on_abort_twice(int number) {
    fprintf(stderr, "the handler begins\n");
    in_thread(take_in_thread, (void *)8192);
    _exit(1);
}

int main(void) {
    handle_abort();
    CHECK(signal(SIGABRT, on_abort_twice) != SIG_ERR);
    overwrite_and_allocate();
    return survived();
}
