// acre-test: libs=pthread env=ACRE_CONF=background_thread:true,dirty_decay_ms:100
// A system that gives no more threads: everything works, memory returns with allocation activity, malloc_stats says
// so, and errno is left alone.
#include "background.h"

#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/syscall.h>

// From now on threads are refused, processes are not.
static int refuse_threads(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 2),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),  // clone3: glibc then takes clone
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void *nothing(void *argument) { return argument; }

int main(void) {
    without_huge_pages();
    if (!refuse_threads()) check_skip("no seccomp filters here");
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, nothing, NULL), EAGAIN);

    const size_t before = resident_bytes();
    errno = 4242;
    fill_and_free();
    CHECK_EQ(errno, 4242);
    char task[64];
    CHECK_EQ(background_threads(task), 0);
    for (int i = 0; i < kPatienceSeconds * 20 && resident_bytes() > before + 8 * MIB; i++) {
        usleep(50000);
        for (int j = 0; j < 40; j++) free(must_malloc(40 * KIB));
    }
    CHECK_LE(resident_bytes(), before + 8 * MIB);

    int ends[2];
    static char said[8192];
    CHECK_EQ(pipe(ends), 0);
    const int stderr_before = dup(STDERR_FILENO);
    CHECK_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    malloc_stats();
    CHECK_EQ(dup2(stderr_before, STDERR_FILENO), STDERR_FILENO);
    CHECK(read(ends[0], said, sizeof said - 1) > 0);
    CHECK(strstr(said, "background thread: refused") != NULL);
    CHECK(strstr(said, "of allocation activity") != NULL);
    return 0;
}
