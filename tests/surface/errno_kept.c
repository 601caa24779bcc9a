// A call that succeeds leaves errno alone: first calls, refills, large and huge blocks, frees.
#include "check.h"

#include <malloc.h>

#define KEEPS_ERRNO(statement)                                                                     \
    do {                                                                                           \
        errno = 4711;                                                                              \
        statement;                                                                                 \
        CHECK_EQ(errno, 4711);                                                                     \
    } while (0)

static void one_size(size_t size) {
    void *block = NULL;
    KEEPS_ERRNO(block = malloc(size));
    CHECK(block != NULL);
    KEEPS_ERRNO(CHECK(malloc_usable_size(block) >= size));
    KEEPS_ERRNO(block = realloc(block, size + size / 2 + 1));
    CHECK(block != NULL);
    KEEPS_ERRNO(block = realloc(block, size / 2 + 1));
    CHECK(block != NULL);
    KEEPS_ERRNO(free(block));
    KEEPS_ERRNO(block = calloc(1, size));
    CHECK(block != NULL);
    KEEPS_ERRNO(free(block));
    KEEPS_ERRNO(block = aligned_alloc(4096, (size + 4095) & ~(size_t)4095));
    CHECK(block != NULL);
    KEEPS_ERRNO(free(block));
    KEEPS_ERRNO(block = reallocarray(NULL, size, 1));
    CHECK(block != NULL);
    KEEPS_ERRNO(free(block));
    KEEPS_ERRNO(CHECK_EQ(posix_memalign(&block, 64, size), 0));
    KEEPS_ERRNO(free(block));
}

int main(void) {
    void *blocks[64];
    // The very first allocation of the program starts the allocator up.
    KEEPS_ERRNO(blocks[0] = hide(malloc(hide_size(1))));
    KEEPS_ERRNO(free(blocks[0]));
    KEEPS_ERRNO(free(hide(NULL)));
    for (size_t size = 1; size <= 40000; size += size / 16 + 1) one_size(hide_size(size));
    for (size_t size = 64 * KIB; size <= 600 * MIB; size *= 3) one_size(hide_size(size));
    // Many blocks alive, so that arenas have to grow and memory is returned in between.
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 64; i++) {
            KEEPS_ERRNO(blocks[i] = hide(malloc(hide_size((size_t)(i + 1) * 40000))));
            CHECK(blocks[i] != NULL);
            memset(blocks[i], i, (size_t)(i + 1) * 40000);
        }
        for (int i = 0; i < 64; i++) KEEPS_ERRNO(free(blocks[i]));
        KEEPS_ERRNO(malloc_trim(0));
    }
    return 0;
}
