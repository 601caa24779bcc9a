// A mapping of the program's is a root, and no longer one when it is unmapped.
// leaks normal: 1 keep_in_unmapped
#include "support.h"

#include <sys/mman.h>

static NOINLINE void **map(int sharing) {
    return mmap(NULL, 65536, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
}
static NOINLINE void keep_in_mapped(void) {
    map(MAP_PRIVATE)[100] = malloc(10);
    map(MAP_SHARED)[100] = malloc(10);
}
static NOINLINE void keep_in_unmapped(void) {
    void **mapped = map(MAP_PRIVATE);
    mapped[100] = malloc(10);
    munmap(mapped, 65536);
}

int main(void) {
    LOSE(keep_in_mapped());
    LOSE(keep_in_unmapped());
    return 0;
}
