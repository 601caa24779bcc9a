// acre-test: libs=pthread
// A sandbox that refuses madvise: dirty pages stay, everything else works, and the statistics say so.
#include "check.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/syscall.h>

static int refuse_madvise(unsigned error) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void *work(void *argument) {
    uint64_t random = (uint64_t)(uintptr_t)argument;
    enum { kBlocks = 3000 };
    static __thread unsigned char *block[kBlocks];
    static __thread size_t size[kBlocks];
    for (int step = 0; step < 60000; step++) {
        const size_t i = random_below(&random, kBlocks);
        if (block[i] != NULL) {
            CHECK_EQ(block[i][0], (unsigned char)i);
            CHECK_EQ(block[i][size[i] - 1], (unsigned char)i);
        }
        if (random_below(&random, 100) == 0) CHECK(all_bytes_are(hide(calloc(1, 200000)), 200000, 0));
        free(block[i]);
        size[i] = 1 + random_below(&random, step % 50 == 0 ? 300000 : 3000);
        block[i] = (unsigned char *)must_malloc(size[i]);
        memset(block[i], (int)(unsigned char)i, size[i]);
        if (step % 10000 == 0) malloc_trim(0);
    }
    for (int i = 0; i < kBlocks; i++) free(block[i]);
    return NULL;
}

static int refused(unsigned error) {
    static char text[8192];
    if (!refuse_madvise(error)) check_skip("no seccomp filter can be set");
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1)), 0);
    for (int i = 0; i < 3; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(malloc_trim(0), 0);
    void *huge = must_malloc(100 * MIB);
    memset(huge, 1, 100 * MIB);
    const size_t before = resident_bytes();
    free(huge);
    CHECK_LE(resident_bytes() + 90 * MIB, before);  // unmapped, which is allowed
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    malloc_stats();
    close(ends[1]);
    close(STDERR_FILENO);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0;) length += (size_t)got;
    const char *line = strstr(text, "purges refused: ");
    if (line == NULL || strstr(line, " (madvise is not allowed here); dirty pages stay\n") == NULL) _exit(5);
    return strtol(line + strlen("purges refused: "), NULL, 10) > 0 ? 0 : 6;
}

int main(void) {
    const unsigned errors[] = {EPERM, ENOSYS};
    for (int i = 0; i < 2; i++) {
        const pid_t child = fork();
        if (child == 0) _exit(refused(errors[i]));
        int status = 0;
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77) return 77;
        CHECK_EQ(WEXITSTATUS(status), 0);
    }
    return 0;
}
