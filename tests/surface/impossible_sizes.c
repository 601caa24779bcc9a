// Sizes above PTRDIFF_MAX fail with ENOMEM in every function, and cost nothing.
#include "check.h"

#include <malloc.h>

#define CHECK_REFUSED(call)                                                                        \
    do {                                                                                           \
        errno = 0;                                                                                 \
        void *refused = hide(call);                                                                \
        CHECK(refused == NULL);                                                                    \
        CHECK_EQ(errno, ENOMEM);                                                                   \
    } while (0)

int main(void) {
    const size_t sizes[] = {(size_t)PTRDIFF_MAX + 1, (size_t)PTRDIFF_MAX + 4096, SIZE_MAX / 2 + 100,
                            SIZE_MAX - 8192,         SIZE_MAX - 4096,            SIZE_MAX - 4095,
                            SIZE_MAX - 64,           SIZE_MAX - 15,              SIZE_MAX - 1,
                            SIZE_MAX};
    void *kept = must_malloc(100);
    fill_pattern(kept, 100, 7);
    void *kept_large = must_malloc(3 * MIB);
    fill_pattern(kept_large, 3 * MIB, 8);
    const size_t before = resident_bytes();
    for (int round = 0; round < 100; round++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            const size_t size = hide_size(sizes[i]);
            CHECK_REFUSED(malloc(size));
            CHECK_REFUSED(calloc(1, size));
            CHECK_REFUSED(calloc(size, 1));
            CHECK_REFUSED(realloc(NULL, size));
            CHECK_REFUSED(realloc(hide(kept), size));
            CHECK_REFUSED(realloc(hide(kept_large), size));
            CHECK_REFUSED(reallocarray(hide(kept), size, 1));
            CHECK_REFUSED(reallocarray(hide(kept), 1, size));
            CHECK_REFUSED(valloc(size));
            CHECK_REFUSED(pvalloc(size));
            for (size_t alignment = sizeof(void *); alignment <= 4 * MIB; alignment *= 8) {
                void *posix = (void *)&posix;
                CHECK_REFUSED(memalign(alignment, size));
                CHECK_REFUSED(aligned_alloc(alignment, size));
                CHECK_EQ(posix_memalign(&posix, alignment, size), ENOMEM);
                CHECK(posix == (void *)&posix);
            }
        }
    }
    // Below PTRDIFF_MAX, but more than any machine has.
    CHECK_REFUSED(malloc(hide_size((size_t)PTRDIFF_MAX)));
    CHECK_REFUSED(malloc(hide_size((size_t)PTRDIFF_MAX - 4096)));
    CHECK_REFUSED(malloc(hide_size((size_t)1 << 56)));
    CHECK_REFUSED(calloc(hide_size((size_t)1 << 28), hide_size((size_t)1 << 28)));
    CHECK_REFUSED(realloc(hide(kept), hide_size((size_t)PTRDIFF_MAX)));
    CHECK_REFUSED(aligned_alloc(MIB, hide_size((size_t)PTRDIFF_MAX)));
    CHECK_REFUSED(aligned_alloc(MIB, hide_size((size_t)PTRDIFF_MAX - 100)));

    // A failed realloc leaves the block as it was.
    CHECK_EQ(pattern_length(kept, 100, 7), 100);
    CHECK_EQ(pattern_length(kept_large, 3 * MIB, 8), 3 * MIB);
    free(kept);
    free(kept_large);
    CHECK_LE(resident_bytes(), before + MIB);
    free(must_malloc(100));
    return 0;
}
