// realloc(NULL, n) allocates, realloc(p, 0) frees and returns NULL, as glibc does.
#include "check.h"

#include <malloc.h>

static const size_t kSizes[] = {1,        8,        16,       100,      1000,    4096,
                                20000,    32768,    40000,    100000,   MIB,     3 * MIB,
                                10 * MIB, 40 * MIB, 70 * MIB, 200 * MIB};

int main(void) {
    for (size_t i = 0; i < sizeof kSizes / sizeof kSizes[0]; i++) {
        const size_t size = kSizes[i];
        char *block = (char *)hide(realloc(hide(NULL), hide_size(size)));
        CHECK(block != NULL);
        CHECK_GE(malloc_usable_size(block), size);
        block[0] = 1;
        block[size - 1] = 1;
        errno = 4711;
        CHECK(hide(realloc(block, hide_size(0))) == NULL);
        CHECK_EQ(errno, 4711);
    }
    // realloc(NULL, 0) is malloc(0): a unique block.
    void *first = hide(realloc(hide(NULL), hide_size(0)));
    void *second = hide(realloc(hide(NULL), hide_size(0)));
    CHECK(first != NULL && second != NULL && first != second);
    free(first);
    free(second);

    // realloc(p, 0) really frees: if it did not, this would hold 20 GB.
    const size_t before = resident_bytes();
    for (int i = 0; i < 20000; i++) {
        char *block = (char *)must_malloc(MIB);
        block[i % MIB] = 1;
        CHECK(hide(realloc(block, hide_size(0))) == NULL);
    }
    for (int i = 0; i < 2000000; i++) {
        char *block = (char *)must_malloc(200);
        block[i % 200] = 1;
        CHECK(hide(realloc(block, hide_size(0))) == NULL);
    }
    CHECK_LE(resident_bytes(), before + 32 * MIB);

    // To the same size, and to every size up to the usable one: the block stays where it is.
    for (size_t i = 0; i < sizeof kSizes / sizeof kSizes[0]; i++) {
        void *block = must_malloc(kSizes[i]);
        const size_t usable = malloc_usable_size(block);
        CHECK(hide(realloc(block, hide_size(kSizes[i]))) == block);
        CHECK(hide(realloc(block, hide_size(usable))) == block);
        CHECK_EQ(malloc_usable_size(block), usable);
        free(block);
    }
    return 0;
}
