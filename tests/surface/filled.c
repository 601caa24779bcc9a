// acre-test: not-hardened
// Options junk and zero: what new and freed bytes hold, for blocks of every kind. Runs itself again with each setting.
// acre-test: libs=pthread
// The hardened mode does not fill blocks: they are zero.
#include "again.h"

#include <malloc.h>
#include <pthread.h>

enum { NEW = 0xa5, FREED = 0x5a, ANY = -1 };

static int new_byte = ANY, freed_byte = ANY;

static const size_t kSizes[] = {1, 8, 24, 100, 1000, 1024, 1025, 5000, 32768, 32769, 100000, 700000};
enum { SIZES = sizeof kSizes / sizeof kSizes[0] };

static void check_bytes(const void *block, size_t from, size_t to, int byte) {
    if (byte != ANY && from < to) CHECK_AT(all_bytes_are((const char *)block + from, to - from, (unsigned char)byte), to);
}

static void check_new(void *block, size_t from) {
    CHECK(block != NULL);
    check_bytes(block, from, malloc_usable_size(block), new_byte);
}

// A freed block's first bytes are a link.
static void free_and_look(void *block) {
    const size_t size = malloc_usable_size(block);
    memset(block, 0x11, size);
    free(block);
    check_bytes(block, 8, size, freed_byte);
}

static void allocations(void) {
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < SIZES; i++) {
            const size_t size = kSizes[i];
            void *block = must_malloc(size);
            check_new(block, 0);
            free_and_look(block);
            block = hide(calloc(hide_size(1), size));
            CHECK(block != NULL && all_bytes_are(block, size, 0));
            check_new(block, size);
            free_and_look(block);
            for (size_t alignment = 16; alignment <= 64 * KIB; alignment *= 4) {
                block = hide(memalign(alignment, size));
                CHECK(is_aligned(block, alignment));
                check_new(block, 0);
                free_and_look(block);
            }
            void *out = NULL;
            CHECK_EQ(posix_memalign(&out, 2 * MIB, size), 0);
            check_new(out, 0);
            free_and_look(out);
        }
    }
}

static void reallocations(void) {
    for (size_t i = 0; i < SIZES; i++) {
        for (size_t j = 0; j < SIZES; j++) {
            unsigned char *block = (unsigned char *)must_malloc(kSizes[i]);
            const size_t before = malloc_usable_size(block);
            const size_t kept = before < kSizes[j] ? before : kSizes[j];
            fill_pattern(block, before, i);
            unsigned char *moved = (unsigned char *)hide(realloc(block, hide_size(kSizes[j])));
            CHECK(moved != NULL);
            CHECK_EQ(pattern_length(moved, kept, i), kept);
            if (kSizes[j] > before) check_new(moved, before);
            if (moved != block) check_bytes(block, 8, before, freed_byte);
            free_and_look(moved);
        }
    }
}

// A mapping each, which goes back to the system.
static void huge_blocks(void) {
    char *block = (char *)must_malloc(65 * MIB);
    check_new(block, 0);
    memset(block, 1, MIB);
    block = (char *)hide(realloc(block, 80 * MIB));
    CHECK(block != NULL && all_bytes_are(block, MIB, 1));
    check_new(block, 65 * MIB);
    block = (char *)hide(realloc(block, 66 * MIB));
    CHECK(block != NULL && all_bytes_are(block, MIB, 1));
    free(block);
    block = (char *)hide(calloc(1, 65 * MIB));
    CHECK(block != NULL && all_bytes_are(block, 65 * MIB, 0));
    free(block);
}

static void *many(void *blocks) {
    void **at = (void **)blocks;
    for (size_t i = 0; i < 3000; i++) {
        at[i] = must_malloc(i % 3000 + 1);
        check_new(at[i], 0);
    }
    return NULL;
}

// All that some threads do is to free.
static void *free_many(void *blocks) {
    void **at = (void **)blocks;
    for (size_t i = 0; i < 3000; i++) free_and_look(at[i]);
    return NULL;
}

// Blocks of one thread that another frees, and what is made of them afterwards.
static void threads(void) {
    static void *blocks[4][3000];
    for (int round = 0; round < 4; round++) {
        pthread_t thread[4];
        for (int i = 0; i < 4; i++) CHECK_EQ(pthread_create(&thread[i], NULL, many, blocks[i]), 0);
        for (int i = 0; i < 4; i++) CHECK_EQ(pthread_join(thread[i], NULL), 0);
        pthread_t freeing;
        CHECK_EQ(pthread_create(&freeing, NULL, free_many, blocks[0]), 0);
        CHECK_EQ(pthread_join(freeing, NULL), 0);
        for (int i = 1; i < 4; i++) free_many(blocks[i]);
    }
}

static void run(void) {
    allocations();
    reallocations();
    huge_blocks();
    threads();
    const pid_t child = fork();
    if (child == 0) {
        allocations();
        threads();
        _exit(0);
    }
    check_child(child, 0);
}

struct Setting {
    const char *conf;
    int new_byte, freed_byte;
};
static const struct Setting kSettings[] = {
    {"junk:false", ANY, ANY},   {"junk:true", NEW, FREED}, {"junk:alloc", NEW, ANY},
    {"junk:free", ANY, FREED},  {"zero:true", 0, ANY},     {"zero:true,junk:true", 0, FREED},
};

int main(int argc, char **argv) {
    if (argc == 2) {
        const struct Setting *setting = &kSettings[atoi(argv[1])];
        new_byte = setting->new_byte;
        freed_byte = setting->freed_byte;
        run();
        return 0;
    }
    for (size_t i = 0; i < sizeof kSettings / sizeof kSettings[0]; i++) {
        const pid_t child = fork();
        if (child == 0) {
            char index[2] = {(char)('0' + i), '\0'};
            setenv("ACRE_CONF", kSettings[i].conf, 1);
            start_again("/proc/self/exe", index, NULL);
            _exit(126);
        }
        check_child(child, 0);
    }
    return 0;
}
