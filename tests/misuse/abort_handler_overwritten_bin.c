// expect: acre: a list of free blocks was overwritten
// expect: the handler is done
// Above 4 KiB malloc takes blocks from a run's list with the bin's lock held, and finds there that the list is
// overwritten.
#include "abort_handler.h"

int main(void) {
    handle_abort();
    overwrite_and_allocate();
    return survived();
}
