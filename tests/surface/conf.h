// Runs this program again and reads what acre says to its stderr at start-up.
#ifndef ACRE_TESTS_SURFACE_CONF_H
#define ACRE_TESTS_SURFACE_CONF_H

#include "again.h"

static char said[4096];

// before: called in the child. path: the program; its only argument is "child". Returns its exit code.
static int run_again(const char *path, void (*before)(void)) {
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (before != NULL) before();
        dup2(ends[1], STDERR_FILENO);
        start_again(path, "child", NULL);
        _exit(126);
    }
    close(ends[1]);
    size_t length = 0;
    for (;;) {
        const ssize_t got = read(ends[0], said + length, sizeof said - 1 - length);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        length += (size_t)got;
    }
    said[length] = '\0';
    close(ends[0]);
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void check_said(const char *expected) {
    if (strcmp(said, expected) == 0) return;
    check_write(said, (int)strlen(said));
    check_fail(__FILE__, __LINE__, expected);
}

static int is_child(int argc, char **argv) { return argc == 2 && strcmp(argv[1], "child") == 0; }

static int child_main(void) {
    free(must_malloc(100));
    return 0;
}

#endif
