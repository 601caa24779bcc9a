// Blocks in a file under /dev, such as one of hugetlbfs there, lead to blocks: here in a tmpfs, mounted for this process
// alone.
// leaks normal: 1 lose
#define _GNU_SOURCE
#include "support.h"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

static void *volatile kept;
static volatile uintptr_t hidden;

static NOINLINE void keep(void) {
    void **holder = malloc(100);
    holder[1] = malloc(200);
    kept = holder;
}
static NOINLINE void lose(void) { hidden = ~(uintptr_t)malloc(300); }

// Returns 0, or 77 where it is not permitted.
static int mount_over_dev(void) {
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWNS | CLONE_NEWUSER) != 0) return 77;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return 77;
    return mount("none", "/dev", "tmpfs", 0, NULL) != 0 ? 77 : 0;
}

int main(int count, char **argument) {
    if (getenv("IN_DEV") == NULL) {
        char settings[2000];
        if (mount_over_dev() != 0) return 77;
        snprintf(settings, sizeof settings, "%s,file:/dev", getenv("ACRE_CONF"));
        setenv("ACRE_CONF", settings, 1);
        setenv("IN_DEV", "1", 1);
        execv("/proc/self/exe", argument);
        return 1;
    }
    LOSE(keep());
    LOSE(lose());
    return count == 0;
}
