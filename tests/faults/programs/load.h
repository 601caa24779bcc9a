// What the programs share: a mixed load whose contents are checked, and messages without malloc.
#pragma once

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition) ((condition) ? (void)0 : load_fail(__FILE__, __LINE__, #condition))

__attribute__((noreturn)) static inline void load_fail(const char *file, int line, const char *what) {
    char text[400];
    const int size = snprintf(text, sizeof text, "%s:%d: %s does not hold, errno %d\n", file, line, what, errno);
    if (write(2, text, (size_t)size) < 0) _exit(2);
    _exit(1);
}

static inline uint64_t load_random(uint64_t *state) {  // xorshift64*
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1d;
}

// A block with its size and a sum over what it holds.
struct load_block {
    size_t size;
    uint64_t tag;
    unsigned char bytes[];
};

static inline size_t load_size(uint64_t random) {
    if (random % 512 == 0) return random / 512 % (3 << 20);
    if (random % 16 == 0) return random / 16 % 40000;
    return random / 16 % 600;
}

// Ends and one byte a page, of large blocks one in 64 KiB, are written, and looked at again.
static inline size_t load_stride(size_t size, size_t i) { return i < 64 ? 1 : size > 1 << 20 ? 65536 : 4096; }

static inline void load_fill(struct load_block *block, size_t size, uint64_t tag) {
    block->size = size;
    block->tag = tag;
    for (size_t i = 0; i < size; i += load_stride(size, i)) block->bytes[i] = (unsigned char)(tag + i);
    if (size != 0) block->bytes[size - 1] = (unsigned char)tag;
}

static inline void load_check(const struct load_block *block) {
    const uint64_t tag = block->tag;
    const size_t size = block->size;
    if (size != 0) CHECK(block->bytes[size - 1] == (unsigned char)tag);
    for (size_t i = 0; i + 1 < size; i += load_stride(size, i)) CHECK(block->bytes[i] == (unsigned char)(tag + i));
}

// Null: refused, which is ENOMEM. `block` is then as it was.
static inline struct load_block *load_resize(struct load_block *block, size_t size, uint64_t tag) {
    const size_t old = block == NULL ? 0 : block->size;
    if (block != NULL) load_check(block);
    errno = 0;
    const size_t bytes = sizeof(struct load_block) + size;
    struct load_block *made =
        (struct load_block *)(tag % 7 == 0 && block == NULL ? calloc(1, bytes) : realloc(block, bytes));
    if (made == NULL) {
        CHECK(errno == ENOMEM);
        return NULL;
    }
    if (block != NULL && old > 1 && size >= old) load_check(made);
    load_fill(made, size, tag);
    return made;
}

static inline void load_free(struct load_block *block) {
    if (block == NULL) return;
    load_check(block);
    free(block);
}

// So many random steps over `count` places. Returns how many requests were refused.
static inline size_t load_steps(struct load_block **places, size_t count, uint64_t *random, size_t steps) {
    size_t refused = 0;
    for (size_t i = 0; i < steps; ++i) {
        const uint64_t r = load_random(random);
        struct load_block **place = &places[r % count];
        if (*place != NULL && r >> 60 < 9) {
            load_free(*place);
            *place = NULL;
        } else {
            struct load_block *made = load_resize(*place, load_size(r >> 8), r >> 8);
            if (made == NULL) ++refused;
            else *place = made;
        }
    }
    return refused;
}

static inline void load_free_all(struct load_block **places, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        load_free(places[i]);
        places[i] = NULL;
    }
}

static inline size_t load_resident(void) {
    unsigned long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%lu %lu", &total, &resident) == 2);
    fclose(file);
    return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

// Without the pages that acre keeps unused.
static inline size_t load_resident_after_purge(void) {
    malloc_trim(0);
    return load_resident();
}
