// acre-test: not-linked not-preload
// A set-user-id program does not read ACRE_CONF. Needs root, to make one and to start it as somebody else.
#include "conf.h"

#include <sys/auxv.h>
#include <sys/stat.h>

enum { PLAIN = 10, PRIVILEGED = 11, NOBODY = 65534 };

static void become_nobody(void) {
    CHECK_EQ(setgid(NOBODY), 0);
    CHECK_EQ(setuid(NOBODY), 0);
}

static void copy_program(const char *path, mode_t mode) {
    static char text[1 << 16];
    const int from = open("/proc/self/exe", O_RDONLY);
    const int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);
    CHECK(from >= 0 && to >= 0);
    for (ssize_t got; (got = read(from, text, sizeof text)) > 0;) CHECK_EQ(write(to, text, (size_t)got), got);
    CHECK_EQ(fchmod(to, mode), 0);
    close(from);
    close(to);
}

int main(int argc, char **argv) {
    if (is_child(argc, argv)) {
        child_main();
        return getauxval(AT_SECURE) ? PRIVILEGED : PLAIN;
    }
    if (getuid() != 0) check_skip("needs root");
    char folder[] = "/tmp/acre-privileged-XXXXXX", path[100];
    CHECK(mkdtemp(folder) != NULL);
    CHECK_EQ(chmod(folder, 0755), 0);
    snprintf(path, sizeof path, "%s/program", folder);
    CHECK_EQ(setenv("ACRE_CONF", "nonsense:1", 1), 0);

    copy_program(path, 0755);
    const int plain = run_again(path, become_nobody);
    const int complained = strstr(said, "'nonsense:1' is ignored") != NULL;
    copy_program(path, 04755);
    const int privileged = run_again(path, become_nobody);
    unlink(path);
    rmdir(folder);
    CHECK_EQ(plain, PLAIN);
    CHECK(complained);
    if (privileged == PLAIN) check_skip("/tmp does not allow set-user-id programs");
    CHECK_EQ(privileged, PRIVILEGED);
    check_said("");
    return 0;
}
