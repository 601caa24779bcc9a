// expect: acre: free\(0x[0-9a-f]+\): interior pointer
// The middle of a block of another, living thread, freed by a thread.
#include "misuse.h"

static void *free_middle(void *block) {
    free(hide((char *)block + 16));
    return NULL;
}

int main(void) {
    void *block = take(1000);
    in_thread(free_middle, block);
    return survived();
}
