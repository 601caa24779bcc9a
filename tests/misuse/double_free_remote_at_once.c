// expect: acre: free\(0x[0-9a-f]+\): double free
// A block of another, living thread, freed twice at once.
#include "misuse.h"

static void *free_twice(void *block) {
    free(block);
    free(hide(block));
    return NULL;
}

int main(void) {
    void *block = take(48);
    in_thread(free_twice, block);
    return survived();
}
