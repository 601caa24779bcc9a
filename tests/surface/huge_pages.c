// acre-test: serial
// Huge pages by option: dense memory takes fewer page faults, a small program and one whose memory is fragmented are not
// larger than without. In each workload the program runs as often as there are options, and says what it has used.
//
// With ACRE_TEST_HUGE_PAGES in the environment for each setting of the machine (/sys/kernel/mm/transparent_hugepage), which
// is changed for some seconds; otherwise for the one in force.
#include "check.h"

#include <malloc.h>

enum { kDense, kSmall, kFragmented, kWorkloads };
static const char *const kOptions[] = {"huge_pages:never", "huge_pages:auto", "huge_pages:always"};
enum { kNever, kAuto, kAlways, kOptionCount };
static const char *const kSetting = "/sys/kernel/mm/transparent_hugepage/enabled";

struct Figures {
    long faults;
    size_t peak, end;  // bytes
};

// --- Workloads ------------------------------------------------------------------------------------------------------

static void dense(void) {
    for (size_t i = 0; i < 256 * MIB / 112; i++) *(char *)must_malloc(100) = 1;
}

static void small(void) {
    uint64_t random = 1;
    for (size_t bytes = 0; bytes < 8 * MIB;) {
        const size_t size = 16 + random_below(&random, 500);
        memset(must_malloc(size), 1, size);
        bytes += size;
    }
}

static size_t fill(void **blocks, size_t most, size_t bytes, uint64_t *random, size_t largest) {
    size_t count = 0;
    for (size_t size; bytes > largest && count < most; bytes -= size) {
        size = 16 + random_below(random, largest - 16);
        blocks[count++] = memset(must_malloc(size), 1, size);
    }
    return count;
}

// Three quarters are freed, here and there; then come blocks of other sizes, of which half go again.
static void fragmented(void) {
    enum { kMost = 1 << 20 };
    void **blocks = (void **)map_pages(2 * kMost * sizeof(void *));
    uint64_t random = 2;
    for (size_t round = 0; round < 3; round++) {
        const size_t count = fill(blocks, kMost, 200 * MIB, &random, (size_t)1000 << 2 * round);
        for (size_t i = 0; i < count; i++) {
            if (random_below(&random, 4) != 0) free(blocks[i]), blocks[i] = NULL;
        }
        const size_t more = fill(blocks + kMost, kMost, 60 * MIB, &random, 6000);
        for (size_t i = 0; i < more; i += 2) free(blocks[kMost + i]), blocks[kMost + i] = NULL;
        if (round == 2) return;
        for (size_t i = 0; i < kMost + more; i++) {
            if (i < count || i >= kMost) free(blocks[i]);
        }
    }
}

// --- One run --------------------------------------------------------------------------------------------------------

static size_t of_status(const char *name) {
    static char text[8192];
    CHECK(read_file("/proc/self/status", text, sizeof text) > 0);
    const char *line = strstr(text, name);
    CHECK(line != NULL);
    return strtoull(line + strlen(name), NULL, 10) * KIB;
}

static void run(int workload, int out) {
    struct Figures figures = {minor_faults(), 0, 0};
    workload == kDense ? dense() : workload == kSmall ? small() : fragmented();
    figures.faults = minor_faults() - figures.faults;
    figures.peak = of_status("VmHWM:");
    malloc_trim(0);
    figures.end = of_status("VmRSS:");
    CHECK(write(out, &figures, sizeof figures) == (ssize_t)sizeof figures);
    _exit(0);
}

static struct Figures figures_of(int workload, int option) {
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        char number[2] = {(char)('0' + workload), '\0'}, descriptor[16];
        snprintf(descriptor, sizeof descriptor, "%d", ends[1]);
        setenv("ACRE_CONF", kOptions[option], 1);
        execl("/proc/self/exe", "huge_pages", number, descriptor, (char *)NULL);
        _exit(90);
    }
    close(ends[1]);
    struct Figures figures;
    CHECK(read(ends[0], &figures, sizeof figures) == (ssize_t)sizeof figures);
    close(ends[0]);
    check_child(child, 0);
    return figures;
}

// --- What they have to be -------------------------------------------------------------------------------------------

static void compare(const char *setting, int print) {
    static const char *const names[] = {"dense", "small", "fragmented"};
    const int there = strcmp(setting, "never") != 0;
    struct Figures figures[kWorkloads][kOptionCount];
    for (int workload = 0; workload < kWorkloads; workload++) {
        for (int option = 0; option < kOptionCount; option++) {
            const struct Figures f = figures[workload][option] = figures_of(workload, option);
            if (print) {
                printf("%-8s %-12s %-18s faults %7ld  peak %6.1f MiB  end %6.1f MiB\n", setting, names[workload],
                       kOptions[option], f.faults, (double)f.peak / (double)MIB, (double)f.end / (double)MIB);
            }
        }
    }
    const struct Figures *f = figures[kDense];
    CHECK_GE(f[kNever].faults, (long)(256 * MIB / 4096));
    if (there) CHECK_LE(f[kAuto].faults, f[kNever].faults);
    CHECK_LE(f[kAuto].peak, f[kNever].peak / 100 * 105);
    f = figures[kSmall];
    CHECK_LE(f[kAuto].peak, f[kNever].peak + 256 * KIB);
    f = figures[kFragmented];
    CHECK_LE(f[kAuto].peak, f[kNever].peak / 100 * 105);
    CHECK_LE(f[kAuto].end, f[kNever].end / 100 * 105);
}

static int set(const char *setting) {
    const int fd = open(kSetting, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    const ssize_t written = write(fd, setting, strlen(setting));
    close(fd);
    return written > 0;
}

int main(int argc, char **argv) {
    if (argc == 3) run(argv[1][0] - '0', atoi(argv[2]));
    const int print = argc == 2;
    char text[64], now[16] = "";
    if (read_file(kSetting, text, sizeof text) == 0) check_skip("the system has no transparent huge pages");
    const char *chosen = strchr(text, '[');
    if (chosen != NULL) sscanf(chosen, "[%15[a-z]", now);
    if (getenv("ACRE_TEST_HUGE_PAGES") == NULL) {
        compare(now, print);
        return 0;
    }
    static const char *const settings[] = {"madvise", "always", "never"};
    const pid_t child = fork();  // so that the setting is put back, whatever becomes of it
    if (child == 0) {
        for (int i = 0; i < 3; i++) {
            if (!set(settings[i])) check_skip("the setting may not be changed");
            compare(settings[i], print);
        }
        exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    set(now);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
