// acre-test: serial
// vm.overcommit_memory 0, 1 and 2, which hold for the whole machine: only with ACRE_TEST_OVERCOMMIT in the environment,
// and where they may be set. In mode 2 the machine is left more to commit than it has, so that other programs go on; what
// happens when the kernel commits nothing more is played by the fake OS (tests/fake_os).
#include "check.h"

#include <malloc.h>

static const char *const kMode = "/proc/sys/vm/overcommit_memory";
static const char *const kRatio = "/proc/sys/vm/overcommit_ratio";
static const char *const kKbytes = "/proc/sys/vm/overcommit_kbytes";
static const size_t kCommitLimit = (size_t)100 << 40;

static int set(const char *path, const char *value) {
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    const ssize_t written = write(fd, value, strlen(value));
    close(fd);
    return written > 0;
}

static int work(int mode) {
    void *blocks[1000];
    for (int round = 0; round < 5; round++) {
        for (size_t i = 0; i < 1000; i++) memset(blocks[i] = must_malloc(i * 200), (int)i, i * 200);
        for (size_t i = 0; i < 1000; i++) {
            CHECK(all_bytes_are(blocks[i], i * 200, (unsigned char)i));
            free(blocks[i]);
        }
        malloc_trim(0);
    }
    free(must_malloc(100 * MIB));
    if (mode != 2) return 0;
    errno = 0;
    CHECK(hide(malloc(hide_size(kCommitLimit + kCommitLimit / 8))) == NULL);
    CHECK_EQ(errno, ENOMEM);
    static char text[8192];
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    malloc_stats();
    close(STDERR_FILENO);
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0;) length += (size_t)got;
    return strstr(text, "requests to the system refused: ") != NULL &&
                   strstr(text, "vm.overcommit_memory is 2") != NULL ? 0 : 5;
}

int main(void) {
    char mode[16], ratio[16], kbytes[32], limit[32];
    if (getenv("ACRE_TEST_OVERCOMMIT") == NULL) check_skip("changes the machine: only with ACRE_TEST_OVERCOMMIT=1");
    if (read_file(kMode, mode, sizeof mode) == 0 || read_file(kRatio, ratio, sizeof ratio) == 0 ||
        read_file(kKbytes, kbytes, sizeof kbytes) == 0 || !set(kMode, mode)) {
        check_skip("vm.overcommit_memory may not be set");
    }
    snprintf(limit, sizeof limit, "%zu", kCommitLimit / KIB);
    int status[3] = {-1, -1, -1};
    for (int i = 0; i <= 2; i++) {
        const pid_t child = fork();  // what it finds at its start is the mode
        if (child == 0) {
            char number[2] = {(char)('0' + i), '\0'};
            alarm(20);
            if ((i == 2 && !set(kKbytes, limit)) || !set(kMode, number)) _exit(77);
            _exit(work(i));
        }
        waitpid(child, &status[i], 0);
        set(kMode, mode);
        if (i == 2) set(atoll(kbytes) != 0 ? kKbytes : kRatio, atoll(kbytes) != 0 ? kbytes : ratio);
    }
    for (int i = 0; i <= 2; i++) {
        CHECK(WIFEXITED(status[i]));
        if (WEXITSTATUS(status[i]) == 77) check_skip("vm.overcommit_memory may not be set");
        CHECK_EQ(WEXITSTATUS(status[i]), 0);
    }
    return 0;
}
