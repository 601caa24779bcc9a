// A child of fork is not asked: its leak changes neither its exit code nor what the parent says.
// leaks normal: none
#include "support.h"

#include <sys/wait.h>
#include <unistd.h>

static NOINLINE void lose(void) { malloc(10); }

int main(void) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        LOSE(lose());
        exit(5);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 5 ? 0 : 1;
}
