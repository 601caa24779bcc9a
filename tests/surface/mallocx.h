// jemalloc's mallocx and its kin as a table of functions, and what must hold for them.
#ifndef ACRE_TESTS_SURFACE_MALLOCX_H
#define ACRE_TESTS_SURFACE_MALLOCX_H

#include "check.h"

#include <malloc.h>

struct Mallocx {
    void *(*mallocx_fn)(size_t, int);
    void *(*rallocx_fn)(void *, size_t, int);
    size_t (*xallocx_fn)(void *, size_t, size_t, int);
    size_t (*sallocx_fn)(const void *, int);
    void (*dallocx_fn)(void *, int);
    void (*sdallocx_fn)(void *, size_t, int);
    size_t (*nallocx_fn)(size_t, int);
    int (*allocm_fn)(void **, size_t *, size_t, int);
    int (*rallocm_fn)(void **, size_t *, size_t, size_t, int);
    int (*sallocm_fn)(const void *, size_t *, int);
    int (*dallocm_fn)(void *, int);
    int (*nallocm_fn)(size_t *, size_t, int);
};

// The flags are written as numbers: what compiled programs pass.
static void check_mallocx(const struct Mallocx *m) {
    for (size_t size = 1; size <= 8 * MIB; size += size / 3 + 1) {
        const int flags = 7 | 0x40;  // 128 bytes, zeroed
        unsigned char *block = (unsigned char *)hide(m->mallocx_fn(hide_size(size), flags));
        CHECK(block != NULL && is_aligned(block, 128));
        const size_t bytes = m->sallocx_fn(block, 0);
        CHECK_EQ(bytes, m->nallocx_fn(size, flags));
        CHECK_EQ(bytes, malloc_usable_size(block));
        CHECK(all_bytes_are(block, bytes, 0));
        memset(block, 7, bytes);
        block = (unsigned char *)hide(m->rallocx_fn(block, hide_size(2 * bytes), flags | 0x100000));  // arena 0
        const size_t more = m->sallocx_fn(block, 0);
        CHECK(all_bytes_are(block, bytes, 7) && all_bytes_are(block + bytes, more - bytes, 0));
        const size_t less = m->xallocx_fn(block, bytes, 0, 0);
        CHECK(less == more || less == m->nallocx_fn(bytes, 0));
        if (size % 2 == 0) {
            m->sdallocx_fn(block, less, 0x100);
        } else {
            free(block);
        }
    }
    void *block = must_malloc(100);
    m->dallocx_fn(block, 0x200);
    size_t told = 0;
    CHECK_EQ(m->allocm_fn(&block, &told, 100, 12 | 0x40), 0);
    CHECK(is_aligned(block, 4096) && told == 4096 && all_bytes_are(block, told, 0));
    CHECK_EQ(m->rallocm_fn(&block, &told, 5000, 0, 0x80), 2);
    CHECK_EQ(m->rallocm_fn(&block, &told, 5000, 3000, 0), 0);
    CHECK_EQ(told, 8192);
    CHECK_EQ(m->sallocm_fn(block, &told, 0), 0);
    CHECK_EQ(told, 8192);
    CHECK_EQ(m->nallocm_fn(&told, 1, 0), 0);
    CHECK_EQ(told, 8);
    CHECK_EQ(m->dallocm_fn(block, 0), 0);
}

#endif
