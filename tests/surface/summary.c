// stats_print: the summary at the program's end, in programs that are linked, linked statically, and preloaded into.
#include "again.h"

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        free(must_malloc(100));
        return 3;
    }
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        setenv("ACRE_CONF", "stats_print:true", 1);
        start_again("/proc/self/exe", "again", NULL);
        _exit(90);
    }
    close(ends[1]);
    char text[4096];
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0;) length += (size_t)got;
    text[length] = '\0';
    check_child(child, 3);
    CHECK(strncmp(text, "acre ", 5) == 0);
    CHECK(strstr(text, "resident") != NULL);
    return 0;
}
