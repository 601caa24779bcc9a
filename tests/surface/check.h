// Shared helpers of the test programs, for C11 and C++20. Nothing here calls malloc: a failure is
// reported with snprintf into a stack buffer and write(2), so a broken allocator can still be told.
#ifndef ACRE_TESTS_SURFACE_CHECK_H
#define ACRE_TESTS_SURFACE_CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

static inline void check_write(const char *text, int length) {
    ssize_t written = write(STDERR_FILENO, text, length > 0 ? (size_t)length : 0);
    (void)written;
}

__attribute__((noreturn)) static inline void check_fail(const char *file, int line,
                                                        const char *what) {
    char text[512];
    check_write(text, snprintf(text, sizeof text, "%s:%d: CHECK(%s) failed, errno %d\n", file, line,
                               what, errno));
    _exit(1);
}

__attribute__((noreturn)) static inline void check_fail_values(const char *file, int line,
                                                               const char *what, long long left,
                                                               long long right) {
    char text[512];
    check_write(text, snprintf(text, sizeof text,
                               "%s:%d: CHECK(%s) failed: %lld (0x%llx) against %lld (0x%llx)\n", file,
                               line, what, left, (unsigned long long)left, right,
                               (unsigned long long)right));
    _exit(1);
}

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) check_fail(__FILE__, __LINE__, #condition);                              \
    } while (0)

#define CHECK_OP(left, op, right)                                                                  \
    do {                                                                                           \
        const long long check_left = (long long)(left);                                            \
        const long long check_right = (long long)(right);                                          \
        if (!(check_left op check_right))                                                          \
            check_fail_values(__FILE__, __LINE__, #left " " #op " " #right, check_left,            \
                              check_right);                                                        \
    } while (0)

#define CHECK_EQ(left, right) CHECK_OP(left, ==, right)
#define CHECK_NE(left, right) CHECK_OP(left, !=, right)
#define CHECK_LE(left, right) CHECK_OP(left, <=, right)
#define CHECK_GE(left, right) CHECK_OP(left, >=, right)

// Says where a value came from when a loop's check fails: prints the context, then fails.
#define CHECK_AT(condition, context)                                                               \
    do {                                                                                           \
        if (!(condition))                                                                          \
            check_fail_values(__FILE__, __LINE__, #condition " at " #context,                      \
                              (long long)(context), 0);                                            \
    } while (0)

__attribute__((noreturn)) static inline void check_skip(const char *reason) {
    char text[256];
    check_write(text, snprintf(text, sizeof text, "skipped: %s\n", reason));
    _exit(77);
}

// The compiler loses track of what the pointer or the number is.
static inline void *hide(void *pointer) {
    __asm__ volatile("" : "+r"(pointer) : : "memory");
    return pointer;
}

static inline size_t hide_size(size_t size) {
    __asm__ volatile("" : "+r"(size) : : "memory");
    return size;
}

static inline void *must_malloc(size_t size) {
    void *block = hide(malloc(hide_size(size)));
    if (block == NULL) check_fail_values(__FILE__, __LINE__, "malloc", (long long)size, errno);
    return block;
}

static inline int is_aligned(const void *pointer, size_t alignment) {
    return ((uintptr_t)pointer & (alignment - 1)) == 0;
}

// Random numbers that are the same everywhere (splitmix64).
static inline uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline size_t random_below(uint64_t *state, size_t bound) {
    return (size_t)(next_random(state) % bound);
}

// A pattern that differs at every offset and for every tag.
static inline unsigned char pattern_byte(size_t offset, uint64_t tag) {
    return (unsigned char)((offset * 131) ^ (offset >> 8) ^ tag ^ (tag >> 8));
}

static inline void fill_pattern(void *block, size_t size, uint64_t tag) {
    unsigned char *bytes = (unsigned char *)block;
    for (size_t i = 0; i < size; i++) bytes[i] = pattern_byte(i, tag);
    hide(block);
}

// The first offset that differs from the pattern, or size.
static inline size_t pattern_length(const void *block, size_t size, uint64_t tag) {
    const unsigned char *bytes = (const unsigned char *)block;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != pattern_byte(i, tag)) return i;
    }
    return size;
}

static inline int all_bytes_are(const void *block, size_t size, unsigned char value) {
    const unsigned char *bytes = (const unsigned char *)block;
    if (size == 0) return 1;
    return bytes[0] == value && memcmp(bytes, bytes + 1, size - 1) == 0;
}

// Memory for the test's own books, so that they are no part of what is measured or broken.
static inline void *map_pages(size_t size) {
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    return pages;
}

static inline void *map_shared(size_t size) {
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    return pages;
}

static inline size_t read_file(const char *path, char *buffer, size_t capacity) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    if (fd < 0) return 0;
    while (length < capacity - 1) {
        ssize_t got = read(fd, buffer + length, capacity - 1 - length);
        if (got <= 0) break;
        length += (size_t)got;
    }
    close(fd);
    buffer[length] = '\0';
    return length;
}

// Resident bytes. statm is inexact by some hundred KiB on new kernels (per-processor counters), so
// the exact sum in smaps_rollup comes first.
static inline size_t resident_bytes(void) {
    char text[4096];
    if (read_file("/proc/self/smaps_rollup", text, sizeof text) > 0) {
        const char *line = strstr(text, "\nRss:");
        if (line != NULL) return strtoull(line + 5, NULL, 10) * KIB;
    }
    CHECK(read_file("/proc/self/statm", text, sizeof text) > 0);
    char *end = NULL;
    strtoull(text, &end, 10);
    return strtoull(end, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

static inline size_t mapped_bytes(void) {
    char text[256];
    CHECK(read_file("/proc/self/statm", text, sizeof text) > 0);
    return strtoull(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

static inline long minor_faults(void) {
    struct rusage usage;
    CHECK_EQ(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_minflt;
}

// Measurements of resident memory should not depend on the machine's huge page setting.
static inline void without_huge_pages(void) {
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

static inline void limit_address_space(size_t bytes) {
    struct rlimit limit;
    CHECK_EQ(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = bytes;
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

static inline void unlimit_address_space(void) {
    struct rlimit limit;
    CHECK_EQ(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

// Allocates blocks of one size until there are `most` or one is refused; a list through the blocks keeps them. errno tells
// why the last one was refused. Only the first bytes are touched.
static inline size_t allocate_list(size_t size, size_t most, void **list) {
    size_t count = 0;
    for (; count < most; count++) {
        errno = 0;
        void **block = (void **)hide(malloc(hide_size(size)));
        if (block == NULL) break;
        block[0] = *list;
        *list = block;
    }
    return count;
}

static inline void free_list(void *list) {
    while (list != NULL) {
        void *next = *(void **)list;
        free(list);
        list = next;
    }
}

// Allocates blocks of 1 MiB, filled with their numbers, until one is refused. There must be fewer than `most`.
static inline size_t fill_address_space(unsigned char **blocks, size_t most) {
    size_t count = 0;
    while (count < most && (blocks[count] = (unsigned char *)hide(malloc(MIB))) != NULL) {
        memset(blocks[count], (int)count, MIB);
        count++;
    }
    CHECK(count < most);
    return count;
}

// Waits for a child and demands that it exited with this code.
static inline void check_child(pid_t child, int code) {
    int status = 0;
    CHECK(child > 0);
    pid_t waited;
    do {
        waited = waitpid(child, &status, 0);
    } while (waited < 0 && errno == EINTR);
    CHECK_EQ(waited, child);
    if (!WIFEXITED(status)) check_fail_values(__FILE__, __LINE__, "child exited", status, 0);
    CHECK_EQ(WEXITSTATUS(status), code);
}

#endif
