// acre-test: not-static
// acre-test: libs=dl
// mallocx, its kin and their twins are exported, so that programs which look for jemalloc's find a preloaded acre's.
#include "mallocx.h"
#include "loaded.h"

static void find_all(struct Mallocx *m, const char *prefix) {
    static const char *const names[] = {"mallocx", "rallocx", "xallocx", "sallocx", "dallocx", "sdallocx",
                                        "nallocx", "allocm",  "rallocm", "sallocm", "dallocm", "nallocm"};
    void **slots = (void **)m;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        char name[40];
        snprintf(name, sizeof name, "%s%s", prefix, names[i]);
        find(&slots[i], name);
    }
}

int main(void) {
    struct Mallocx functions;
    void *unused;
    find_all(&functions, "");
    check_mallocx(&functions);
    find_all(&functions, "acre_");
    check_mallocx(&functions);
    find(&unused, "malloc_message");
    find(&unused, "malloc_conf");
    return 0;
}
