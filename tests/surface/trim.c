// malloc_trim(0) returns freed memory to the system at once, and says whether it did.
#include "check.h"

#include <malloc.h>

// 100 MB in blocks of one size, freed again in an order of its own.
static void fill_and_free(void **blocks, size_t size) {
    const size_t count = 100000000 / size;
    for (size_t i = 0; i < count; i++) {
        blocks[i] = must_malloc(size);
        memset(blocks[i], 1, size);
    }
    for (size_t i = 0; i < count; i += 2) free(blocks[i]);
    for (size_t i = 1; i < count; i += 2) free(blocks[i]);
}

int main(void) {
    without_huge_pages();
    void **blocks = (void **)map_pages(16 * MIB);
    memset(blocks, 0, 16 * MIB);
    free(must_malloc(1));
    const size_t before = resident_bytes();
    const size_t most = before + (getenv("ACRE_EMULATOR") == NULL ? 8 : 16) * MIB;  // QEMU's own: 6 to 10 with glibc's malloc
    const size_t sizes[] = {64, 1000, 20000, 100000, 3 * MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        fill_and_free(blocks, sizes[i]);
        const size_t held = resident_bytes();
        const int released = malloc_trim(0);
        const size_t now = resident_bytes();
        CHECK(released == 0 || released == 1);
        CHECK_AT(now <= most, now - before);
        // Whoever gave memory back says so.
        if (held > now + 4 * MIB) CHECK_EQ(released, 1);
    }
    // What may stay is more than there is: nothing goes.
    fill_and_free(blocks, 100000);
    const size_t kept = resident_bytes();
    CHECK_EQ(malloc_trim(hide_size(SIZE_MAX)), 0);
    CHECK(resident_bytes() + MIB > kept);
    malloc_trim(0);

    // Nothing left to give: 0 by and by, and never an error.
    int last = 1;
    for (int i = 0; i < 5; i++) last = malloc_trim(0);
    CHECK_EQ(last, 0);

    // Live blocks are left alone.
    for (int i = 0; i < 100000; i++) {
        blocks[i] = must_malloc(200);
        memset(blocks[i], i & 0xff, 200);
    }
    for (int i = 0; i < 100000; i++) {
        if (i % 5 != 0) free(blocks[i]);
    }
    malloc_trim(0);
    malloc_trim(hide_size(64 * KIB));
    for (int i = 0; i < 100000; i += 5) {
        CHECK(all_bytes_are(blocks[i], 200, (unsigned char)(i & 0xff)));
        free(blocks[i]);
    }
    return 0;
}
