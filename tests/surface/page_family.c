// valloc and pvalloc: page-aligned, pvalloc rounded up to whole pages; memalign of every alignment.
#include "check.h"

#include <malloc.h>

int main(void) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t size = 1; size <= 20 * MIB; size += size / 3 + 1) {
        char *v = (char *)hide(valloc(hide_size(size)));
        char *pv = (char *)hide(pvalloc(hide_size(size)));
        CHECK(v != NULL && pv != NULL);
        CHECK(is_aligned(v, page) && is_aligned(pv, page));
        CHECK_GE(malloc_usable_size(v), size);
        const size_t rounded = (size + page - 1) / page * page;
        CHECK_GE(malloc_usable_size(pv), rounded);
        memset(v, 1, size);
        memset(pv, 2, rounded);
        CHECK(all_bytes_are(v, size, 1));
        CHECK(all_bytes_are(pv, rounded, 2));
        free(v);
        pv = (char *)hide(realloc(pv, hide_size(rounded + 1)));
        CHECK(pv != NULL);
        CHECK(all_bytes_are(pv, rounded, 2));
        free(pv);
    }
    for (size_t multiple = 1; multiple <= 64; multiple++) {
        for (int delta = -1; delta <= 1; delta++) {
            const size_t size = multiple * page + (size_t)delta;
            char *pv = (char *)hide(pvalloc(hide_size(size)));
            CHECK(pv != NULL && is_aligned(pv, page));
            CHECK_GE(malloc_usable_size(pv), (size + page - 1) / page * page);
            free(pv);
        }
    }
    free(hide(valloc(hide_size(0))));
    free(hide(pvalloc(hide_size(0))));
    return 0;
}
