// /etc/acre.conf, as a file and as the text of a symbolic link, in an /etc of this test's own; needs root.
#include "conf.h"

#include <sched.h>
#include <sys/mount.h>

#define PATH "/etc/acre.conf"

static void write_file(const char *text) {
    unlink(PATH);
    const int fd = open(PATH, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
    CHECK_EQ(close(fd), 0);
}

static void own_etc(void) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("acre", "/etc", "tmpfs", 0, NULL) != 0) {
        check_skip("no mounts of its own: run it as root");
    }
}

int main(int argc, char **argv) {
    if (is_child(argc, argv)) return child_main();
    own_etc();
    unsetenv("ACRE_CONF");
    CHECK_EQ(run_again("/proc/self/exe", NULL), 0);
    check_said("");

    write_file("# all of the machine\narenas:2\nnonsense:1\n");
    CHECK_EQ(run_again("/proc/self/exe", NULL), 0);
    check_said("acre: /etc/acre.conf: 'nonsense:1' is ignored: there is no such option; `acre options` lists them\n");

    CHECK_EQ(unlink(PATH), 0);
    CHECK_EQ(symlink("arenas:2,arenas:x", PATH), 0);
    CHECK_EQ(run_again("/proc/self/exe", NULL), 0);
    check_said("acre: /etc/acre.conf: 'arenas:x' is ignored: arenas is a number from 0 to 256\n");

    // The environment comes later.
    write_file("stats_print:true");
    CHECK_EQ(setenv("ACRE_CONF", "stats_print:false", 1), 0);
    CHECK_EQ(run_again("/proc/self/exe", NULL), 0);
    check_said("");
    return 0;
}
