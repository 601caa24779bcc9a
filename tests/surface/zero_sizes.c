// malloc(0) gives a unique block, and the other functions take size 0 without harm.
#include "check.h"

#include <malloc.h>

enum { kBlocks = 2000 };

static int compare(const void *left, const void *right) {
    const uintptr_t a = *(const uintptr_t *)left;
    const uintptr_t b = *(const uintptr_t *)right;
    return a < b ? -1 : a > b;
}

int main(void) {
    static void *blocks[kBlocks];
    static uintptr_t sorted[kBlocks];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < kBlocks; i++) {
            // Every other one is a one-byte block: a zero-sized one must differ from these as well.
            blocks[i] = hide(malloc(hide_size(i % 2 ? 0 : 1)));
            CHECK(blocks[i] != NULL);
            if (i % 2 == 0) *(char *)blocks[i] = (char)i;
            sorted[i] = (uintptr_t)blocks[i];
        }
        qsort(sorted, kBlocks, sizeof sorted[0], compare);
        for (int i = 1; i < kBlocks; i++) CHECK(sorted[i] != sorted[i - 1]);
        for (int i = 0; i < kBlocks; i++) {
            if (i % 2 == 0) CHECK_EQ(*(char *)blocks[i], (char)i);
            free(blocks[i]);
        }
    }

    CHECK_EQ(malloc_usable_size(NULL), 0);
    free(hide(NULL));

    void *first = hide(calloc(hide_size(0), hide_size(8)));
    void *second = hide(calloc(hide_size(8), hide_size(0)));
    void *third = hide(reallocarray(NULL, hide_size(0), hide_size(8)));
    CHECK(first != NULL && second != NULL && third != NULL);
    CHECK(first != second && first != third && second != third);
    free(first);
    free(second);
    free(third);

    for (size_t alignment = sizeof(void *); alignment <= 64 * KIB; alignment *= 2) {
        void *aligned = hide(aligned_alloc(alignment, hide_size(0)));
        void *other = hide(memalign(alignment, hide_size(0)));
        void *posix = NULL;
        CHECK_EQ(posix_memalign(&posix, alignment, hide_size(0)), 0);
        // Null is allowed for a zero-sized aligned block; a shared or misaligned one is not.
        CHECK(aligned == NULL || aligned != other);
        CHECK(posix == NULL || (posix != aligned && posix != other));
        CHECK(is_aligned(aligned, alignment) && is_aligned(other, alignment));
        CHECK(is_aligned(posix, alignment));
        free(aligned);
        free(other);
        free(posix);
    }
    return 0;
}
