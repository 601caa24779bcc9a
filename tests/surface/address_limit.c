// Out of memory under RLIMIT_AS: NULL and ENOMEM at every size, nothing lost, and it works again
// when memory is back.
#include "check.h"

#include <malloc.h>

static const size_t kRoom = 96 * MIB;

int main(void) {
    free(must_malloc(1));
    const size_t sizes[] = {16, 48, 1000, 4096, 20000, 32768, 100000, 3 * MIB, 10 * MIB, 40 * MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t size = sizes[i];
        limit_address_space(mapped_bytes() + kRoom);
        size_t first_round = 0;
        for (int round = 0; round < 3; round++) {
            void *list = NULL;
            const size_t count = allocate_list(size, SIZE_MAX, &list);  // the limit is on address space
            CHECK_EQ(errno, ENOMEM);
            // Most of the room was really given out, and in later rounds none of it is missing.
            CHECK_GE(count * size, kRoom / 3);
            if (round == 0) first_round = count;
            CHECK_GE(count + count / 16 + 1, first_round);

            // Everything else fails as well, or succeeds from what is left, and never crashes.
            for (size_t other = 1; other <= 200 * MIB; other = other * 5 + 3) {
                errno = 0;
                void *block = hide(calloc(1, hide_size(other)));
                CHECK(block != NULL || errno == ENOMEM);
                free(block);
                void *aligned = NULL;
                const int result = posix_memalign(&aligned, 4096, hide_size(other));
                CHECK(result == 0 || result == ENOMEM);
                free(aligned);
            }
            // A realloc that fails leaves the block as it is.
            if (list != NULL) {
                void *next = *(void **)list;
                errno = 0;
                void *bigger = hide(realloc(list, hide_size(kRoom * 4)));
                CHECK(bigger == NULL);
                CHECK_EQ(errno, ENOMEM);
                CHECK(*(void **)list == next);
            }
            free_list(list);
            free(must_malloc(size));
        }
        unlimit_address_space();
        // Memory is back.
        char *big = (char *)must_malloc(400 * MIB);
        big[400 * MIB - 1] = 1;
        free(big);
        malloc_trim(0);
    }
    return 0;
}
