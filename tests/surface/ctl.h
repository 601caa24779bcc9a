// mallctl and its twins as a table of functions, and what must hold for them.
#ifndef ACRE_TESTS_SURFACE_CTL_H
#define ACRE_TESTS_SURFACE_CTL_H

#include "check.h"

#include <malloc.h>

struct Ctl {
    int (*ctl)(const char *, void *, size_t *, void *, size_t);
    int (*to_mib)(const char *, size_t *, size_t *);
    int (*by_mib)(const size_t *, size_t, void *, size_t *, void *, size_t);
};

static void check_ctl(const struct Ctl *c) {
    const char *version = NULL;
    size_t size = sizeof version;
    CHECK_EQ(c->ctl("version", &version, &size, NULL, 0), 0);
    CHECK(version[0] >= '0' && version[0] <= '9');

    unsigned bins = 0;
    size = sizeof bins;
    CHECK_EQ(c->ctl("arenas.nbins", &bins, &size, NULL, 0), 0);
    size_t mib[4], length = 4;
    CHECK_EQ(c->to_mib("arenas.bin.0.size", mib, &length), 0);
    CHECK_EQ(length, 4);
    size_t last = 0;
    for (unsigned i = 0; i < bins; i++) {
        size_t bytes;
        mib[2] = i;
        size = sizeof bytes;
        CHECK_EQ(c->by_mib(mib, length, &bytes, &size, NULL, 0), 0);
        CHECK(bytes > last);
        last = bytes;
        void *block = must_malloc(bytes);
        CHECK_EQ(malloc_usable_size(block), bytes);
        free(block);
    }

    uint64_t epoch = 1;
    size_t before, after;
    CHECK_EQ(c->ctl("epoch", NULL, NULL, &epoch, sizeof epoch), 0);
    size = sizeof before;
    CHECK_EQ(c->ctl("stats.allocated", &before, &size, NULL, 0), 0);
    void *block = must_malloc(10 * MIB);
    CHECK_EQ(c->ctl("epoch", NULL, NULL, &epoch, sizeof epoch), 0);
    CHECK_EQ(c->ctl("stats.allocated", &after, &size, NULL, 0), 0);
    CHECK_EQ(after - before, 10 * MIB);
    free(block);

    errno = 77;
    CHECK_EQ(c->ctl("nothing.of.this.name", NULL, NULL, NULL, 0), ENOENT);
    CHECK_EQ(c->ctl("version", NULL, NULL, &version, sizeof version), EPERM);
    size = 3;
    CHECK_EQ(c->ctl("stats.allocated", &after, &size, NULL, 0), EINVAL);
    CHECK_EQ(size, 3);
    CHECK_EQ(c->ctl("arena.0.purge", NULL, NULL, NULL, 0), 0);
    CHECK_EQ(errno, 77);
}

#endif
