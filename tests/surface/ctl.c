// acre-test: not-preload
// acre's headers declare mallctl and its twins, and they link.
#include "ctl.h"

#include <acre/jemalloc.h>

int main(void) {
    struct Ctl plain = {mallctl, mallctlnametomib, mallctlbymib};
    check_ctl(&plain);
    struct Ctl twins = {acre_mallctl, acre_mallctlnametomib, acre_mallctlbymib};
    check_ctl(&twins);
    unsigned all = MALLCTL_ARENAS_ALL;
    CHECK_EQ(all, 4096);
    struct acre_mallctl_node node;
    unsigned count = 0;
    while (acre_mallctl_info(count, &node) == 0) count++;
    CHECK(count > 50);
    return 0;
}
