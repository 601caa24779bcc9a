// acre-test: not-hardened
// A huge block grows by moving pages, not by copying: data stay, page faults stay few.
// The hardened mode moves large blocks by copying.
#include "check.h"

#include <malloc.h>

int main(void) {
    without_huge_pages();
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t start = 128 * MIB;
    unsigned char *block = (unsigned char *)must_malloc(start);
    for (size_t i = 0; i < start; i += page) *(size_t *)(void *)(block + i) = i ^ 0x1234;
    // A neighbour on either side, so that growing in place is not always possible.
    void *neighbour = must_malloc(start);

    const long faults = minor_faults();
    const size_t resident = resident_bytes();
    for (size_t size = start + 5 * MIB; size <= 3 * GIB / 2; size += size / 4) {
        block = (unsigned char *)hide(realloc(block, hide_size(size)));
        CHECK(block != NULL);
        CHECK_GE(malloc_usable_size(block), size);
        for (size_t i = 0; i < start; i += page) {
            CHECK_AT(*(size_t *)(void *)(block + i) == (i ^ 0x1234), i);
        }
        block[size - 1] = 1;
    }
    // Copying 128 MiB even once would be 32768 faults of 4 KiB.
    CHECK_LE(minor_faults() - faults, (long)(start / page / 8));
    CHECK_LE(resident_bytes(), resident + 4 * MIB);

    block = (unsigned char *)hide(realloc(block, hide_size(start)));
    CHECK(block != NULL);
    for (size_t i = 0; i < start; i += page) {
        CHECK_AT(*(size_t *)(void *)(block + i) == (i ^ 0x1234), i);
    }
    CHECK_LE(minor_faults() - faults, (long)(start / page / 8));
    free(block);
    free(neighbour);
    return 0;
}
