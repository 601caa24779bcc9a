// The acre_ twins as a table of functions, and what must hold for them; the programs that include
// this fill the table by linking or by dlsym.
#ifndef ACRE_TESTS_SURFACE_TWINS_H
#define ACRE_TESTS_SURFACE_TWINS_H

#include "check.h"

#include <malloc.h>

struct Twins {
    void *(*malloc_fn)(size_t);
    void *(*calloc_fn)(size_t, size_t);
    void *(*realloc_fn)(void *, size_t);
    void *(*reallocarray_fn)(void *, size_t, size_t);
    void (*free_fn)(void *);
    void (*free_sized_fn)(void *, size_t);
    void (*free_aligned_sized_fn)(void *, size_t, size_t);
    void *(*aligned_alloc_fn)(size_t, size_t);
    int (*posix_memalign_fn)(void **, size_t, size_t);
    void *(*memalign_fn)(size_t, size_t);
    void *(*valloc_fn)(size_t);
    void *(*pvalloc_fn)(size_t);
    void (*cfree_fn)(void *);
    size_t (*malloc_usable_size_fn)(const void *);
    int (*malloc_trim_fn)(size_t);
    int (*owns_fn)(const void *);
};

// Whatever the twins give out, libc's names take back, and the other way round.
static void check_one_heap(const struct Twins *t) {
    for (size_t size = 1; size <= 40 * MIB; size += size / 2 + 1) {
        void *ours = hide(t->malloc_fn(hide_size(size)));
        void *libc = must_malloc(size);
        CHECK(ours != NULL);
        CHECK(t->owns_fn(ours) && t->owns_fn(libc));
        CHECK_EQ(malloc_usable_size(ours), t->malloc_usable_size_fn(libc));
        memset(ours, 1, size);
        memset(libc, 2, size);
        ours = hide(realloc(ours, hide_size(size + 100)));
        libc = hide(t->realloc_fn(libc, hide_size(size + 100)));
        CHECK(ours != NULL && libc != NULL);
        CHECK(all_bytes_are(ours, size, 1) && all_bytes_are(libc, size, 2));
        free(ours);
        t->free_fn(libc);
    }
}

static void check_each(const struct Twins *t) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *block = (char *)hide(t->calloc_fn(hide_size(100), hide_size(7)));
    CHECK(block != NULL && all_bytes_are(block, 700, 0));
    block = (char *)hide(t->reallocarray_fn(block, hide_size(1000), hide_size(7)));
    CHECK(block != NULL && all_bytes_are(block, 700, 0));
    t->free_sized_fn(block, 7000);
    block = (char *)hide(t->aligned_alloc_fn(256, hide_size(1024)));
    CHECK(block != NULL && is_aligned(block, 256));
    t->free_aligned_sized_fn(block, 256, 1024);
    void *out = NULL;
    CHECK_EQ(t->posix_memalign_fn(&out, 4096, 100), 0);
    CHECK(out != NULL && is_aligned(out, 4096));
    t->cfree_fn(out);
    CHECK_EQ(t->posix_memalign_fn(&out, 3, 100), EINVAL);
    block = (char *)hide(t->memalign_fn(64 * KIB, 10));
    CHECK(block != NULL && is_aligned(block, 64 * KIB));
    t->free_fn(block);
    block = (char *)hide(t->valloc_fn(10));
    CHECK(block != NULL && is_aligned(block, page));
    t->free_fn(block);
    block = (char *)hide(t->pvalloc_fn(page + 1));
    CHECK(block != NULL && is_aligned(block, page));
    CHECK_GE(t->malloc_usable_size_fn(block), 2 * page);
    t->free_fn(block);
    const int trimmed = t->malloc_trim_fn(0);
    CHECK(trimmed == 0 || trimmed == 1);
    errno = 0;
    CHECK(hide(t->malloc_fn(hide_size(SIZE_MAX))) == NULL);
    CHECK_EQ(errno, ENOMEM);
    CHECK(hide(t->realloc_fn(t->malloc_fn(10), hide_size(0))) == NULL);
    t->free_fn(NULL);
    t->free_sized_fn(NULL, 0);
}

// acre_owns knows blocks from everything else, and never faults.
static void check_owns(const struct Twins *t) {
    static char global[64];
    char local[64];
    CHECK(!t->owns_fn(NULL));
    CHECK(!t->owns_fn(global));
    CHECK(!t->owns_fn(hide(local)));
    CHECK(!t->owns_fn((const void *)(uintptr_t)&check_owns));
    CHECK(!t->owns_fn((const void *)0x10));
    CHECK(!t->owns_fn((const void *)(uintptr_t)0xdeadbeefdeadbeef));
    CHECK(!t->owns_fn((const void *)(uintptr_t)0xffffffffffffffff));
    CHECK(!t->owns_fn((const void *)(uintptr_t)0xffff888000000000));
    char *mapped = (char *)map_pages(10 * MIB);
    for (size_t i = 0; i < 10 * MIB; i += 64 * KIB) CHECK(!t->owns_fn(mapped + i));
    CHECK_EQ(munmap(mapped, 10 * MIB), 0);
    CHECK(!t->owns_fn(mapped));
}

static void check_twins(const struct Twins *t) {
    check_each(t);
    check_owns(t);
    check_one_heap(t);
}

#endif
