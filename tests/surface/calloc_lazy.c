// calloc of 1 GiB touches next to nothing: fresh pages are zero already.
#include "check.h"

int main(void) {
    without_huge_pages();
    free(must_malloc(1));
    const size_t before = resident_bytes();
    char *block = (char *)hide(calloc(hide_size(GIB), 1));
    CHECK(block != NULL);
    CHECK_LE(resident_bytes(), before + 2 * MIB);
    // Look at it here and there.
    for (size_t i = 0; i < GIB; i += 64 * MIB + 4097) CHECK_EQ(block[i], 0);
    block[GIB - 1] = 1;
    block[0] = 1;
    CHECK_LE(resident_bytes(), before + 2 * MIB);
    free(block);

    // Again after it was dirty: zero, and what is resident afterwards is not a whole block.
    block = (char *)must_malloc(256 * MIB);
    memset(block, 0xee, 256 * MIB);
    free(block);
    block = (char *)hide(calloc(4, hide_size(64 * MIB)));
    CHECK(block != NULL);
    CHECK(all_bytes_are(block, 256 * MIB, 0));
    free(block);
    for (int i = 0; i < 200; i++) {
        block = (char *)hide(calloc(1, hide_size(GIB)));
        CHECK(block != NULL);
        CHECK_EQ(block[(size_t)i * 5 * MIB], 0);
        block[(size_t)i * 5 * MIB] = 1;
        free(block);
    }
    CHECK_LE(resident_bytes(), before + 300 * MIB);
    return 0;
}
