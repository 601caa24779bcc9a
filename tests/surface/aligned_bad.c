// Bad alignments: EINVAL from posix_memalign with the pointer untouched, never a wrong block.
#include "check.h"

#include <malloc.h>

// Not a power of two: null with EINVAL, or a block at least as aligned (older functions round up).
static void refused_or_rounded(void *(*function)(size_t, size_t), size_t alignment, size_t size) {
    errno = 0;
    void *block = hide(function(hide_size(alignment), hide_size(size)));
    if (block == NULL) {
        CHECK(errno == EINVAL || errno == ENOMEM);
        return;
    }
    size_t rounded = 1;
    while (rounded < alignment) rounded *= 2;
    CHECK_AT(is_aligned(block, rounded), alignment);
    memset(block, 1, size);
    free(block);
}

int main(void) {
    const size_t bad[] = {0,  1,  2,   3,   4,    5,    6,     7,     9,        10,          12,
                          15, 17, 24,  33,  48,   63,   65,    96,    100,      127,         1000,
                          4095, 4097, 6144, 65535, 65537, MIB + 1, 3 * MIB, SIZE_MAX, SIZE_MAX - 1,
                          SIZE_MAX - 4095, (SIZE_MAX >> 1) + 2, (SIZE_MAX >> 1) - 1};
    const size_t sizes[] = {1, 100, 5000, 100000, 3 * MIB};
    char marker;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        for (size_t j = 0; j < sizeof sizes / sizeof sizes[0]; j++) {
            void *block = &marker;
            CHECK_EQ(posix_memalign(&block, hide_size(bad[i]), hide_size(sizes[j])), EINVAL);
            CHECK(block == &marker);
            if (bad[i] < GIB) {
                refused_or_rounded(memalign, bad[i], sizes[j]);
                refused_or_rounded(aligned_alloc, bad[i], sizes[j]);
            }
        }
    }
    // Powers of two that no address space can serve: they fail, and the pointer stays.
    for (size_t alignment = (size_t)1 << 48; alignment != 0; alignment *= 2) {
        void *block = &marker;
        const int result = posix_memalign(&block, hide_size(alignment), hide_size(100));
        CHECK(result == ENOMEM || result == EINVAL);
        CHECK(block == &marker);
        errno = 0;
        CHECK(hide(aligned_alloc(hide_size(alignment), hide_size(100))) == NULL);
        CHECK(errno == ENOMEM || errno == EINVAL);
        errno = 0;
        CHECK(hide(memalign(hide_size(alignment), hide_size(100))) == NULL);
        CHECK(errno == ENOMEM || errno == EINVAL);
    }
    // The right alignment with an impossible size.
    void *block = &marker;
    CHECK_EQ(posix_memalign(&block, 64, hide_size(SIZE_MAX - 100)), ENOMEM);
    CHECK(block == &marker);
    CHECK_EQ(posix_memalign(&block, 64, hide_size(SIZE_MAX - 63)), ENOMEM);
    CHECK(block == &marker);

    // posix_memalign on success sets the pointer and works on.
    CHECK_EQ(posix_memalign(&block, sizeof(void *), 100), 0);
    CHECK(block != &marker && block != NULL);
    free(block);
    return 0;
}
