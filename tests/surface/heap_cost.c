// acre-test: serial not-preload
// A heap a request: once some were made, to make, to use and to destroy one takes no system call, and no more memory.
#include "check.h"

#include <acre/heap.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>

static void request(void) {
    acre_heap_t *heap = acre_heap_create(NULL);
    CHECK(heap != NULL);
    for (size_t i = 0; i < 100; i++) CHECK(hide(acre_heap_malloc(heap, 16 + i * 7)) != NULL);
    acre_heap_destroy(heap);
}

static void child(void) {
    for (int i = 0; i < 10; i++) request();
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(77);
    raise(SIGSTOP);
    for (int i = 0; i < 1000; i++) request();
    _exit(0);
}

int main(void) {
    const pid_t pid = fork();
    if (pid == 0) child();
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    if (!WIFSTOPPED(status)) return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    int calls = 0;
    for (;;) {
        if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) != 0) return 77;
        CHECK(waitpid(pid, &status, 0) == pid);
        if (WIFEXITED(status)) break;
        CHECK(WIFSTOPPED(status));
        if (WSTOPSIG(status) == SIGTRAP) calls++;  // at its start and at its end
        CHECK(calls < 1000);
    }
    CHECK_EQ(WEXITSTATUS(status), 0);
    CHECK_LE(calls, 40);
    return 0;
}
