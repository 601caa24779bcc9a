// writer FOLDER: writes one profile after the other, as new files and over an old one, while threads allocate. A
// profile has thousands of stacks, and takes several writes. Says when it has begun; somebody kills it.
#include <pthread.h>

#include "load.h"

enum { kPlaces = 2000 };

int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));

__attribute__((noinline)) static void *work(void *seed) {
    static __thread struct load_block *places[kPlaces];
    uint64_t random = (uint64_t)(uintptr_t)seed;
    for (;;) load_steps(places, kPlaces, &random, 1000);
    return NULL;
}

// Each path, a number of so many bits, is another stack.
static void *allocate_by(unsigned path, unsigned bits);
__attribute__((noinline)) static void *left(unsigned path, unsigned bits) {
    void *volatile block = allocate_by(path, bits);
    return block;
}
__attribute__((noinline)) static void *right(unsigned path, unsigned bits) {
    void *volatile block = allocate_by(path, bits);
    return (char *)block + 0;
}
__attribute__((noinline)) static void *allocate_by(unsigned path, unsigned bits) {
    return bits == 0 ? malloc(5000) : (path & 1 ? left : right)(path >> 1, bits - 1);
}

int main(int count, char **words) {
    CHECK(count == 2);
    static void *volatile kept[4096];
    for (unsigned path = 0; path < 4096; ++path) kept[path] = allocate_by(path, 12);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work, (void *)1) == 0);
    for (int i = 0;; ++i) {
        char path[500];
        snprintf(path, sizeof path, i % 2 == 0 ? "%s/same.pb.gz" : "%s/%d.pb.gz", words[1], i);
        const char *name = path;
        if (mallctl != NULL) CHECK(mallctl("prof.dump", NULL, NULL, &name, sizeof name) == 0);
        if (i == 2) {
            puts("ready");
            fflush(stdout);
        }
    }
}
