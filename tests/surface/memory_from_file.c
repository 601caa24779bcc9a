// acre-test: env=ACRE_CONF=file:/tmp,file_limit:256M
// The option file: the program's memory is a file's, huge blocks too, and other memory beyond the limit.
#include "check.h"

static int is_from_tmp(const void *block) {
    static char text[1 << 20];
    const int fd = open("/proc/self/maps", O_RDONLY);
    size_t size = 0;
    for (ssize_t got; (got = read(fd, text + size, sizeof text - 1 - size)) > 0;) size += (size_t)got;
    close(fd);
    text[size] = '\0';
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        unsigned long from, to;
        CHECK(sscanf(line, "%lx-%lx", &from, &to) == 2);
        if ((uintptr_t)block >= from && (uintptr_t)block < to) return strstr(line, " /tmp/") != NULL;
    }
    return 0;
}

int main(void) {
    char *small = (char *)must_malloc(100);
    CHECK(is_from_tmp(small));
    strcpy(small, "small");
    char *huge = (char *)must_malloc(70 * MIB);
    CHECK(is_from_tmp(huge));
    memset(huge, 1, 70 * MIB);
    huge = (char *)hide(realloc(huge, hide_size(75 * MIB)));
    CHECK(huge != NULL && huge[70 * MIB - 1] == 1);
    free(huge);

    // Four times what the file may have.
    enum { kBlocks = 1024 };
    static char *blocks[kBlocks];
    for (int i = 0; i < kBlocks; i++) {
        blocks[i] = (char *)must_malloc(MIB);
        memset(blocks[i], i & 0xff, MIB);
    }
    CHECK(is_from_tmp(blocks[0]));
    CHECK(!is_from_tmp(blocks[kBlocks - 1]));
    for (int i = 0; i < kBlocks; i++) CHECK(all_bytes_are(blocks[i], MIB, i & 0xff));

    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        for (int i = 0; i < kBlocks; i += 2) free(blocks[i]);
        strcpy(small, "child");
        memset(must_malloc(10 * MIB), 1, 10 * MIB);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
    CHECK(strcmp(small, "small") == 0);
    for (int i = 0; i < kBlocks; i++) {
        CHECK(all_bytes_are(blocks[i], MIB, i & 0xff));
        free(blocks[i]);
    }
    return 0;
}
