// What must hold for free_sized and free_aligned_sized of C23; libc does not have them yet.
#ifndef ACRE_TESTS_SURFACE_FREE_SIZED_H
#define ACRE_TESTS_SURFACE_FREE_SIZED_H

#include "check.h"

#include <malloc.h>

typedef void (*FreeSized)(void *, size_t);
typedef void (*FreeAlignedSized)(void *, size_t, size_t);

static void check_free_sized(FreeSized sized, FreeAlignedSized aligned_sized) {
    sized(NULL, 0);
    sized(NULL, 100);
    aligned_sized(NULL, 64, 0);
    // By the size asked for and by the usable size: both agree with the block.
    for (size_t size = 0; size <= 70000; size++) {
        char *block = (char *)must_malloc(size);
        const size_t usable = malloc_usable_size(block);
        memset(block, 1, size < 64 ? usable : 64);
        sized(block, hide_size(size % 2 ? size : usable));
    }
    for (size_t size = 70000; size <= 200 * MIB; size += size / 5) {
        char *block = (char *)hide(calloc(1, hide_size(size)));
        CHECK(block != NULL);
        sized(block, hide_size(size));
        block = (char *)hide(realloc(must_malloc(100), hide_size(size)));
        CHECK(block != NULL);
        sized(block, hide_size(size));
    }
    for (size_t alignment = 8; alignment <= 64 * MIB; alignment *= 2) {
        for (size_t multiple = 1; multiple <= 3; multiple++) {
            const size_t size = alignment * multiple;
            char *block = (char *)hide(aligned_alloc(alignment, hide_size(size)));
            CHECK(block != NULL);
            block[0] = block[size - 1] = 1;
            aligned_sized(block, alignment, hide_size(size));
        }
        char *block = (char *)hide(aligned_alloc(alignment, hide_size(alignment)));
        CHECK(block != NULL);
        aligned_sized(block, alignment, malloc_usable_size(block));
    }
    // What was freed is reused: 40 GB in all.
    const size_t before = resident_bytes();
    for (int i = 0; i < 10000; i++) {
        char *block = (char *)must_malloc(4 * MIB);
        block[0] = block[4 * MIB - 1] = 1;
        sized(block, 4 * MIB);
        block = (char *)must_malloc(500);
        block[0] = 1;
        sized(block, 500);
    }
    CHECK_LE(resident_bytes(), before + 32 * MIB);
}

#endif
