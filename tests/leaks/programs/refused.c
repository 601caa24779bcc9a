// A program that forbids ptrace to itself: other threads go on running, and what their stacks lead to is no leak.
// leaks normal: 1 lose
// running: 1
#include "support.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static sem_t ready;

static NOINLINE void lose(void) { malloc(10); }

static void *wait_with_block(void *unused) {
    void *volatile own = malloc(100);
    sem_post(&ready);
    pause();
    free(own);
    return unused;
}

static void forbid_ptrace(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) exit(77);
}

int main(void) {
    pthread_t thread;
    sem_init(&ready, 0, 0);
    pthread_create(&thread, NULL, wait_with_block, NULL);
    sem_wait(&ready);
    forbid_ptrace();
    LOSE(lose());
    return 0;
}
