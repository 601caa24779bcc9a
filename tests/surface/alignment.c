// acre-test: not-hardened
// A class's blocks are aligned to the largest power of two that divides it, up to 4096.
// In the hardened mode blocks are as aligned as 16 bytes need, and usable sizes are those asked for.
#include "check.h"

#include <malloc.h>

enum { kMany = 64 };

static void check_alignment(const void *block, size_t request) {
    const size_t usable = malloc_usable_size(hide((void *)(uintptr_t)block));
    const size_t divides = usable & (~usable + 1);
    const size_t expected = divides < 4096 ? divides : 4096;
    CHECK_AT(is_aligned(block, 8), request);
    CHECK_AT(request < 16 || is_aligned(block, 16), request);
    CHECK_AT(is_aligned(block, expected), request);
}

int main(void) {
    for (size_t size = 0; size <= 70000; size++) {
        void *block = must_malloc(size);
        check_alignment(block, size);
        free(block);
    }
    for (size_t size = 70000; size <= 100 * MIB; size += size / 7 + 1) {
        void *block = must_malloc(size);
        check_alignment(block, size);
        free(block);
    }
    // Whole runs of each class, not only their first block; and the same for calloc and realloc.
    static void *blocks[kMany * 8];
    for (size_t size = 1; size <= 40000; size = malloc_usable_size(blocks[0]) + 1) {
        const int count = size <= 4096 ? kMany * 8 : kMany;
        for (int i = 0; i < count; i++) {
            blocks[i] = i % 3 == 0   ? must_malloc(size)
                        : i % 3 == 1 ? hide(calloc(1, hide_size(size)))
                                     : hide(realloc(NULL, hide_size(size)));
            CHECK(blocks[i] != NULL);
            check_alignment(blocks[i], size);
        }
        for (int i = 1; i < count; i++) free(blocks[i]);
        void *last = blocks[0];
        const size_t usable = malloc_usable_size(last);
        free(last);
        blocks[0] = must_malloc(usable);
        CHECK_EQ(malloc_usable_size(blocks[0]), usable);
        free(blocks[0]);
        blocks[0] = must_malloc(usable);
    }
    return 0;
}
