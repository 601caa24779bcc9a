// TCMalloc's variables set acre's options, and a wrong value of one is a line on stderr; privileges apart, everywhere.
#include "conf.h"

static void set_rate(void) {
    unsetenv("ACRE_CONF");
    CHECK_EQ(setenv("TCMALLOC_RELEASE_RATE", "1.5", 1), 0);
    CHECK_EQ(setenv("TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES", "1048576", 1), 0);
    CHECK_EQ(setenv("TCMALLOC_OVERRIDE_PAGESIZE", "nothing of acre's", 1), 0);
}
static void set_nonsense(void) { CHECK_EQ(setenv("TCMALLOC_RELEASE_RATE", "fast", 1), 0); }

int main(int argc, char **argv) {
    if (is_child(argc, argv)) return child_main();
    CHECK_EQ(run_again("/proc/self/exe", set_rate), 0);
    check_said("");
    CHECK_EQ(run_again("/proc/self/exe", set_nonsense), 0);
    check_said("acre: TCMALLOC_RELEASE_RATE: 'fast' is ignored: it is a number from 0 on, 1 is the default\n");
    return 0;
}
