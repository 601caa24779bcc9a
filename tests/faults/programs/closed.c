// closed FIRST FOLDER [write]: closes all descriptors from this one on, opens files that take their numbers, and goes
// on to allocate, write profiles and print statistics. The files have what the program has written, which is nothing.
// write: it writes to one, which has to be found.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "load.h"

enum { kFiles = 64, kPlaces = 500 };

int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));

int main(int count, char **words) {
    CHECK(count >= 3);
    const int first = atoi(words[1]);
    struct load_block *places[kPlaces] = {0};
    uint64_t random = 3;
    load_steps(places, kPlaces, &random, 5000);
    int theirs[256], their_count = 0;  // descriptors that were open, acre's too
    for (int fd = first; fd < 4096; ++fd) {
        if (fcntl(fd, F_GETFD) != -1 && their_count < 256) theirs[their_count++] = fd;
    }
    CHECK(syscall(SYS_close_range, first, ~0u, 0) == 0);
    char path[500];
    for (int i = 0; i < kFiles; ++i) {
        snprintf(path, sizeof path, "%s/theirs.%d", words[2], i);
        CHECK(open(path, O_RDWR | O_CREAT | O_EXCL, 0600) >= 0);
    }
    for (int i = 0; i < their_count; ++i) {
        if (fcntl(theirs[i], F_GETFD) != -1) continue;
        snprintf(path, sizeof path, "%s/theirs.%d", words[2], kFiles + i);
        const int made = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
        CHECK(made >= 0 && (made == theirs[i] || dup2(made, theirs[i]) == theirs[i]));
    }
    if (count > 3) CHECK(write(10, "x", 1) == 1);
    for (int round = 0; round < 3; ++round) {
        load_steps(places, kPlaces, &random, 5000);
        malloc_trim(0);
        snprintf(path, sizeof path, "%s/heap.%d.pb.gz", words[2], round);
        const char *name = path;
        if (mallctl != NULL) CHECK(mallctl("prof.dump", NULL, NULL, &name, sizeof name) == 0);
        uint64_t epoch = 1;
        if (mallctl != NULL) CHECK(mallctl("epoch", NULL, NULL, &epoch, sizeof epoch) == 0);
    }
    load_free_all(places, kPlaces);
    return 0;
}
