// acre-test: not-preload
// acre's headers declare mallctl and its twins, and they link.
#include "ctl.h"

#include <acre/jemalloc.h>

static char printed[4096];

static void gather(void *opaque, const char *text) {
    CHECK(opaque == printed);
    strncat(printed, text, sizeof printed - 1 - strlen(printed));
}

int main(void) {
    struct Ctl plain = {mallctl, mallctlnametomib, mallctlbymib};
    check_ctl(&plain);
    struct Ctl twins = {acre_mallctl, acre_mallctlnametomib, acre_mallctlbymib};
    check_ctl(&twins);
    unsigned all = MALLCTL_ARENAS_ALL;
    CHECK_EQ(all, 4096);
    malloc_stats_print(gather, printed, "a");
    CHECK(strncmp(printed, "acre ", 5) == 0 && strstr(printed, "resident") != NULL);
    printed[0] = '\0';
    acre_malloc_stats_print(gather, printed, NULL);
    CHECK(strncmp(printed, "acre ", 5) == 0);
    struct acre_mallctl_node node;
    unsigned count = 0;
    while (acre_mallctl_info(count, &node) == 0) count++;
    CHECK(count > 50);
    return 0;
}
