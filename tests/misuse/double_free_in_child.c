// expect: acre: free\(0x[0-9a-f]+\): double free
// Freed before fork by the parent, and again by the child.
#include "misuse.h"

int main(void) {
    void *block = take(48);
    void *neighbour = take(48);
    free(block);
    const pid_t child = fork();
    if (child == 0) {
        free(hide(block));
        _exit(survived());
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    hide(neighbour);
    // The parent ends as its child did.
    if (WIFSIGNALED(status)) abort();
    return survived();
}
