// acre-test: not-hardened
// Out of memory under RLIMIT_DATA (ulimit -d), which counts what is mapped writable, from the program's start on and
// later: NULL and ENOMEM at every size, it works again when memory is back, and the statistics name the limit.
// In the hardened mode memory of one class serves no other, so what one size has used up is not there for the next.
#include "check.h"

#include <malloc.h>

static void limit_data(size_t bytes) {
    struct rlimit limit;
    CHECK_EQ(getrlimit(RLIMIT_DATA, &limit), 0);
    limit.rlim_cur = bytes;
    CHECK_EQ(setrlimit(RLIMIT_DATA, &limit), 0);
}

static size_t exhaust(size_t size) {
    void *list = NULL;
    size_t count = 0;
    for (;; count++) {
        errno = 0;
        void **block = (void **)hide(malloc(hide_size(size)));
        if (block == NULL) break;
        *block = list;
        list = block;
    }
    CHECK_EQ(errno, ENOMEM);
    while (list != NULL) {
        void *next = *(void **)list;
        free(list);
        list = next;
    }
    return count;
}

static size_t statistics(char *text, size_t capacity) {
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    const int error_output = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    malloc_stats();
    dup2(error_output, STDERR_FILENO);
    close(error_output);
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], text + length, capacity - 1 - length)) > 0;) length += (size_t)got;
    close(ends[0]);
    text[length] = '\0';
    return length;
}

int main(int argc, char **argv) {
    static char text[8192];
    if (argc == 1) {  // from the start
        limit_data(300 * MIB);
        execl("/proc/self/exe", argv[0], "limited", (char *)NULL);
        _exit(90);
    }
    const size_t sizes[] = {16, 1000, 20000, 100000, 3 * MIB, 40 * MIB, 70 * MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t count = exhaust(sizes[i]);
        CHECK_AT(count * sizes[i] >= 100 * MIB, sizes[i]);
        CHECK_GE(exhaust(sizes[i]) + count / 16 + 1, count);
    }
    CHECK(statistics(text, sizeof text) > 0);
    CHECK(strstr(text, "requests to the system refused: ") != NULL);
    CHECK(strstr(text, "data is limited, ulimit -d, to 300.0 MiB") != NULL);
    limit_data(RLIM_INFINITY);
    free(must_malloc(400 * MIB));
    limit_address_space(mapped_bytes() + 10 * MIB);
    CHECK(hide(malloc(hide_size(GIB))) == NULL);
    CHECK(statistics(text, sizeof text) > 0);
    CHECK(strstr(text, "address space is limited, ulimit -v, to ") != NULL);
    return 0;
}
