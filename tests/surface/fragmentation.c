// acre-test: not-hardened
// Memory of one class is there for another when it is free: phases of different sizes, RSS bounded.
// In the hardened mode memory of one class serves no other.
#include "check.h"

#include <malloc.h>

int main(void) {
    without_huge_pages();
    enum { kMost = 1 << 21 };
    void **blocks = (void **)map_pages(kMost * sizeof(void *));
    memset(blocks, 0, kMost * sizeof(void *));
    const size_t sizes[] = {48, 30000, 100, 200000, 1000, 64, 4096, 10000, 256, 2 * MIB, 80};
    free(must_malloc(1));
    const size_t before = resident_bytes();
    for (int round = 0; round < 2; round++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            const size_t count = 64 * MIB / sizes[s];
            for (size_t i = 0; i < count; i++) {
                blocks[i] = must_malloc(sizes[s]);
                memset(blocks[i], 1, sizes[s]);
            }
            // 64 MiB are alive in each phase; dirty memory of the phase before is used, not added to.
            CHECK_AT(resident_bytes() <= before + 64 * MIB + 64 * MIB / 8 + 32 * MIB, sizes[s]);
            for (size_t i = 0; i < count; i++) free(blocks[i]);
        }
    }
    malloc_trim(0);
    CHECK_LE(resident_bytes(), before + 8 * MIB);
    return 0;
}
