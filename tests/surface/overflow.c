// calloc and reallocarray refuse products that overflow, and products that only just fit work.
#include "check.h"

#define CHECK_REFUSED(call)                                                                        \
    do {                                                                                           \
        errno = 0;                                                                                 \
        void *refused = hide(call);                                                                \
        CHECK(refused == NULL);                                                                    \
        CHECK_EQ(errno, ENOMEM);                                                                   \
    } while (0)

int main(void) {
    const size_t half = (size_t)1 << (sizeof(size_t) * 4);
    // The true product wraps to something small in each pair.
    const size_t pairs[][2] = {{half, half},
                               {half + 1, half},
                               {half, half + 1},
                               {SIZE_MAX, 2},
                               {2, SIZE_MAX},
                               {SIZE_MAX, SIZE_MAX},
                               {SIZE_MAX / 2 + 1, 2},
                               {SIZE_MAX / 4 + 1, 4},
                               {SIZE_MAX / 8 + 1, 8},
                               {3, SIZE_MAX / 3 + 1},
                               {48, SIZE_MAX / 48 + 1},
                               {SIZE_MAX / 16 + 2, 16}};
    char *block = (char *)must_malloc(1000);
    fill_pattern(block, 1000, 3);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const size_t count = hide_size(pairs[i][0]);
        const size_t size = hide_size(pairs[i][1]);
        CHECK_REFUSED(calloc(count, size));
        CHECK_REFUSED(reallocarray(NULL, count, size));
        CHECK_REFUSED(reallocarray(hide(block), count, size));
        CHECK_EQ(pattern_length(block, 1000, 3), 1000);
    }

    block = (char *)hide(reallocarray(hide(block), hide_size(333), hide_size(77)));
    CHECK(block != NULL);
    CHECK_EQ(pattern_length(block, 1000, 3), 1000);
    fill_pattern(block, 333 * 77, 4);
    block = (char *)hide(reallocarray(hide(block), hide_size(100), hide_size(7)));
    CHECK(block != NULL);
    CHECK_EQ(pattern_length(block, 700, 4), 700);
    free(block);

    for (size_t count = 1; count <= 5000; count = count * 3 + 1) {
        for (size_t size = 1; size <= 5000; size = size * 2 + 1) {
            unsigned char *zeroed = (unsigned char *)hide(calloc(hide_size(count), hide_size(size)));
            CHECK(zeroed != NULL);
            CHECK_AT(all_bytes_are(zeroed, count * size, 0), count * size);
            memset(zeroed, 0xee, count * size);
            free(hide(zeroed));
        }
    }
    return 0;
}
