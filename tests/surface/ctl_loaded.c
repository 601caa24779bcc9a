// acre-test: not-static
// acre-test: libs=dl
// mallctl and its twins are exported, so that programs which look for jemalloc's find a preloaded acre's.
#include "ctl.h"
#include "loaded.h"

int main(void) {
    struct Ctl functions;
    void *unused;
    find(&functions.ctl, "mallctl");
    find(&functions.to_mib, "mallctlnametomib");
    find(&functions.by_mib, "mallctlbymib");
    check_ctl(&functions);
    find(&functions.ctl, "acre_mallctl");
    find(&functions.to_mib, "acre_mallctlnametomib");
    find(&functions.by_mib, "acre_mallctlbymib");
    check_ctl(&functions);
    find(&unused, "acre_mallctl_info");
    find(&unused, "acre_option_info");
    find(&unused, "malloc_stats_print");
    find(&unused, "acre_stats_print");
    find(&unused, "acre_stat_info");
    return 0;
}
