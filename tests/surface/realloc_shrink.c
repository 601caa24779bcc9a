// Shrinking gives memory back: a huge block's tail, and a block that became small.
#include "check.h"

#include <malloc.h>

int main(void) {
    without_huge_pages();
    free(must_malloc(1000));
    const size_t before = resident_bytes();

    char *block = (char *)must_malloc(256 * MIB);
    memset(block, 0x5a, 256 * MIB);
    CHECK_GE(resident_bytes(), before + 250 * MIB);
    block = (char *)hide(realloc(block, hide_size(16 * MIB)));
    CHECK(block != NULL);
    CHECK(all_bytes_are(block, 16 * MIB, 0x5a));
    CHECK_LE(malloc_usable_size(block), 20 * MIB);
    malloc_trim(0);
    CHECK_LE(resident_bytes(), before + 24 * MIB);

    block = (char *)hide(realloc(block, hide_size(100)));
    CHECK(block != NULL);
    CHECK(all_bytes_are(block, 100, 0x5a));
    malloc_trim(0);
    CHECK_LE(resident_bytes(), before + 4 * MIB);
    CHECK_LE(malloc_usable_size(block), 4096);
    free(block);

    // Many large blocks shrunk to small ones must not keep their old size.
    enum { kBlocks = 200 };
    static char *blocks[kBlocks];
    for (int i = 0; i < kBlocks; i++) {
        blocks[i] = (char *)must_malloc(500000);
        memset(blocks[i], i, 500000);
    }
    for (int i = 0; i < kBlocks; i++) {
        blocks[i] = (char *)hide(realloc(blocks[i], hide_size(40)));
        CHECK(blocks[i] != NULL);
        CHECK(all_bytes_are(blocks[i], 40, (unsigned char)i));
    }
    malloc_trim(0);
    CHECK_LE(resident_bytes(), before + 8 * MIB);
    for (int i = 0; i < kBlocks; i++) free(blocks[i]);
    return 0;
}
