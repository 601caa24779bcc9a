// What the programs about acre's own threads share.
#ifndef ACRE_TESTS_SURFACE_BACKGROUND_H
#define ACRE_TESTS_SURFACE_BACKGROUND_H

#include "check.h"

#include <dirent.h>
#include <sys/syscall.h>

enum { kFilledBlocks = 40000, kPatienceSeconds = 60 };

// 40 MB in small blocks and 40 MB in large ones, freed again -> resident bytes while all were live. What is resident
// after the last free may be less: on a slow machine the background thread purges the first ones by then.
static inline size_t fill_and_free(void) {
    static void *small[kFilledBlocks], *large[400];
    for (int i = 0; i < kFilledBlocks; i++) small[i] = memset(must_malloc(1000), 1, 1000);
    for (int i = 0; i < 400; i++) large[i] = memset(must_malloc(100 * KIB), 1, 100 * KIB);
    const size_t filled = resident_bytes();
    for (int i = 0; i < kFilledBlocks; i++) free(small[i]);
    for (int i = 0; i < 400; i++) free(large[i]);
    return filled;
}

// Sleeps, without a call of malloc, until resident memory is at most so much.
static inline void wait_until_resident(size_t most) {
    for (int i = 0; i < kPatienceSeconds * 20; i++) {
        if (resident_bytes() <= most) return;
        usleep(50000);
    }
    check_fail_values(__FILE__, __LINE__, "resident bytes fell", (long long)resident_bytes(), (long long)most);
}

// A number that stands behind a name in /proc/self/task/TASK/status; base 16 for a mask.
static inline unsigned long long of_task(const char *task, const char *name, int base) {
    static char text[8192];
    char path[300];
    snprintf(path, sizeof path, "/proc/self/task/%s/status", task);
    if (read_file(path, text, sizeof text) == 0) return 0;
    const char *line = strstr(text, name);
    CHECK(line != NULL);
    return strtoull(line + strlen(name), NULL, base);
}

// The threads of this process that have this name: how many, and the name of one as a task. The list is read without the
// C library, which allocates for it: an allocation may start such a thread.
static inline int threads_named(const char *wanted, char task[64]) {
    static _Alignas(8) char list[4096];
    int count = 0;
    const int tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY);
    CHECK(tasks >= 0);
    for (long size; (size = syscall(SYS_getdents64, tasks, list, sizeof list)) > 0;) {
        for (long at = 0; at < size;) {
            const struct dirent64 *entry = (const struct dirent64 *)(list + at);
            at += entry->d_reclen;
            char path[300], name[64];
            if (entry->d_name[0] == '.') continue;
            snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
            const size_t length = read_file(path, name, sizeof name);
            if (length == 0 || length != strlen(wanted) + 1 || strncmp(name, wanted, length - 1) != 0) continue;
            snprintf(task, 64, "%s", entry->d_name);
            count++;
        }
    }
    close(tasks);
    return count;
}

static inline int background_threads(char task[64]) { return threads_named("acre-decay", task); }

#endif
