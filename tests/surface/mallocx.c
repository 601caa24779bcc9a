// acre-test: not-preload
// acre's headers declare mallocx, its kin and their twins, and they link; and malloc_message takes what is printed.
#include "mallocx.h"

#include <acre/jemalloc.h>

static char printed[100000];

static void gather(void *opaque, const char *text) {
    CHECK(opaque == printed);
    strncat(printed, text, sizeof printed - 1 - strlen(printed));
}

int main(void) {
    struct Mallocx plain = {mallocx, rallocx, xallocx, sallocx, dallocx, sdallocx, nallocx,
                            allocm,  rallocm, sallocm, dallocm, nallocm};
    check_mallocx(&plain);
    struct Mallocx twins = {acre_mallocx,  acre_rallocx, acre_xallocx, acre_sallocx, acre_dallocx, acre_sdallocx,
                            acre_nallocx, acre_allocm,  acre_rallocm, acre_sallocm, acre_dallocm, acre_nallocm};
    check_mallocx(&twins);
    void *block = mallocx(100, MALLOCX_ALIGN(64) | MALLOCX_ZERO | MALLOCX_TCACHE_NONE | MALLOCX_ARENA(0));
    CHECK(block != NULL && is_aligned(block, 64));
    dallocx(block, MALLOCX_TCACHE_NONE);
    CHECK(malloc_message == NULL && malloc_conf == NULL);
    malloc_message = gather;
    malloc_stats_print(NULL, printed, NULL);
    CHECK(strlen(printed) > 100);
    return 0;
}
