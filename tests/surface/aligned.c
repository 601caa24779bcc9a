// Aligned allocation: every power of two up to 1 GiB, with small and large sizes.
#include "check.h"

#include <malloc.h>

enum { kMany = 40 };

// One block by each of the three functions: aligned, usable to the last byte, not overlapping.
static void one(size_t alignment, size_t size) {
    unsigned char *blocks[3];
    blocks[0] = (unsigned char *)hide(aligned_alloc(alignment, hide_size(size)));
    blocks[1] = (unsigned char *)hide(memalign(alignment, hide_size(size)));
    void *posix = NULL;
    if (alignment >= sizeof(void *)) CHECK_EQ(posix_memalign(&posix, alignment, hide_size(size)), 0);
    else posix = must_malloc(size);
    blocks[2] = (unsigned char *)hide(posix);
    for (int i = 0; i < 3; i++) {
        CHECK_AT(blocks[i] != NULL, alignment);
        CHECK_AT(i == 2 || is_aligned(blocks[i], alignment), alignment);
        CHECK_AT(alignment < sizeof(void *) || is_aligned(blocks[i], alignment), alignment);
        CHECK_GE(malloc_usable_size(blocks[i]), size);
        blocks[i][0] = (unsigned char)(i + 1);
        blocks[i][size - 1] = (unsigned char)(i + 1);
        if (size <= 4 * MIB) memset(blocks[i], i + 1, size);
    }
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(blocks[i][0], i + 1);
        CHECK_EQ(blocks[i][size - 1], i + 1);
        if (size <= 4 * MIB) CHECK(all_bytes_are(blocks[i], size, (unsigned char)(i + 1)));
    }
    // An aligned block may be grown and freed like any other.
    blocks[1] = (unsigned char *)hide(realloc(blocks[1], hide_size(size + size / 2 + 1)));
    CHECK(blocks[1] != NULL);
    CHECK_EQ(blocks[1][0], 2);
    CHECK_EQ(blocks[1][size - 1], 2);
    for (int i = 0; i < 3; i++) free(blocks[i]);
}

// Many alive at once, so that they come from many places of a run.
static void many(size_t alignment, size_t size) {
    unsigned char *blocks[kMany];
    for (int i = 0; i < kMany; i++) {
        blocks[i] = (unsigned char *)hide(aligned_alloc(alignment, hide_size(size)));
        CHECK(blocks[i] != NULL && is_aligned(blocks[i], alignment));
        memset(blocks[i], i, size);
    }
    for (int i = 0; i < kMany; i++) {
        CHECK(all_bytes_are(blocks[i], size, (unsigned char)i));
        free(blocks[i]);
    }
}

int main(void) {
    without_huge_pages();
    const size_t sizes[] = {1, 8, 24, 100, 1000, 4096, 5000, 32768, 40000, 300000, 2 * MIB, 5 * MIB};
    for (size_t alignment = 1; alignment <= 64 * MIB; alignment *= 2) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) one(alignment, sizes[i]);
        if (alignment <= 64 * KIB) {
            for (size_t size = 1; size <= 3000; size += size / 3 + 1) many(alignment, size);
            one(alignment, alignment);
            one(alignment, 3 * alignment);
        }
    }
    for (size_t alignment = 128 * MIB; alignment <= GIB; alignment *= 2) {
        // Three blocks of this alignment need some GiB of address space: tell if they are not there.
        void *room = mmap(NULL, 6 * alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                          -1, 0);
        if (room == MAP_FAILED) check_skip("not enough address space for 1 GiB alignment");
        munmap(room, 6 * alignment);
        one(alignment, 1);
        one(alignment, 100000);
        one(alignment, 20 * MIB);
    }
    // What was reserved to align is not resident, and not lost: this would be 2 TB otherwise.
    for (int i = 0; i < 2000; i++) {
        char *block = (char *)hide(aligned_alloc(GIB, hide_size(4096)));
        CHECK(block != NULL);
        block[0] = 1;
        free(block);
    }
    CHECK_LE(resident_bytes(), 200 * MIB);
    return 0;
}
