// refuse CALL ERROR PROGRAM…: runs the program under a seccomp filter that answers this error number to this system
// call.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned number;
} kCalls[] = {
#define CALL(name) {#name, SYS_##name}
    CALL(madvise), CALL(mremap), CALL(membarrier), CALL(rseq), CALL(mbind), CALL(getcpu), CALL(process_madvise),
    CALL(userfaultfd), CALL(prctl), CALL(clone3), CALL(sched_getaffinity), CALL(sysinfo), CALL(prlimit64),
};

// ~0: there is none of this name.
static unsigned number_of(const char *name) {
    for (size_t i = 0; i < sizeof kCalls / sizeof kCalls[0]; ++i) {
        if (strcmp(kCalls[i].name, name) == 0) return kCalls[i].number;
    }
    return ~0u;
}

int main(int count, char **words) {
    if (count < 4 || number_of(words[1]) == ~0u) return 64;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number_of(words[1]), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(words[2])),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        return 77;
    }
    if (getenv("FAULTS_PRELOAD") != NULL) setenv("LD_PRELOAD", getenv("FAULTS_PRELOAD"), 1);
    execvp(words[3], words + 3);
    perror(words[3]);
    return 65;
}
