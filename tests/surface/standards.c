// What C23, POSIX.1-2024 and glibc's manual ask for, sentence by sentence, as far as no other program here looks at it.
// docs/standards.md has them all.
#include "check.h"

#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <stdalign.h>

// The C library does not have them yet.
__attribute__((weak)) void free_sized(void *block, size_t size);
__attribute__((weak)) void free_aligned_sized(void *block, size_t alignment, size_t size);

// An object of this size and any type that has the size may lie in the block.
static void fundamental_alignment(void) {
    for (size_t size = 0; size <= 200; size++) {
        void *blocks[] = {hide(malloc(hide_size(size))), hide(calloc(1, hide_size(size))), hide(realloc(NULL, hide_size(size)))};
        size_t alignment = alignof(max_align_t);
        while (alignment > 8 && alignment > size) alignment /= 2;
        for (size_t i = 0; i < 3; i++) CHECK_AT(is_aligned(blocks[i], alignment), size);
        for (size_t i = 0; i < 3; i++) free(blocks[i]);
    }
}

// A failed realloc leaves the block and what it holds.
static void failed_realloc(void) {
    const size_t sizes[] = {1, 100, 5000, 100000, 70 * MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        unsigned char *block = (unsigned char *)must_malloc(sizes[i]);
        block[0] = 1, block[sizes[i] - 1] = 2;
        errno = 0;
        CHECK(hide(realloc(block, hide_size(PTRDIFF_MAX))) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(hide(reallocarray(block, hide_size(SIZE_MAX / 2), 3)) == NULL && errno == ENOMEM);
        CHECK(block[sizes[i] - 1] == 2 && (sizes[i] == 1 || block[0] == 1));
        free(block);
    }
}

// A null pointer is no block: nothing happens.
static void null_pointers(void) {
    errno = 77;
    free(hide(NULL));
    CHECK(free_sized != NULL && free_aligned_sized != NULL);
    free_sized(hide(NULL), 100);
    free_aligned_sized(hide(NULL), 64, 128);
    CHECK(malloc_usable_size(hide(NULL)) == 0 && errno == 77);
}

static void alignments(void) {
    errno = 0;
    CHECK(hide(aligned_alloc(hide_size(24), 48)) == NULL && errno == EINVAL);
    errno = 0;
    CHECK(hide(aligned_alloc(hide_size(0), 48)) == NULL && errno == EINVAL);
    void *block = hide(aligned_alloc(64, hide_size(100)));  // C17: the size is no multiple
    CHECK(block != NULL && is_aligned(block, 64));
    free(block);
    // posix_memalign returns the error, and says it nowhere else.
    void *untouched = &block;
    errno = 77;
    CHECK(posix_memalign(&untouched, hide_size(4), 100) == EINVAL && posix_memalign(&untouched, hide_size(24), 100) == EINVAL);
    CHECK(posix_memalign(&untouched, 64, hide_size(SIZE_MAX - 100)) == ENOMEM);
    CHECK(errno == 77 && untouched == &block);
    CHECK(posix_memalign(&block, 64, hide_size(0)) == 0);
    free(block);
}

// free leaves errno alone, also where it gives memory back to the system.
static void free_keeps_errno(void) {
    const size_t sizes[] = {1, 5000, 100000, 10 * MIB, 100 * MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *block = must_malloc(sizes[i]);
        errno = -1;
        free(block);
        CHECK_EQ(errno, -1);
    }
}

// What POSIX's functions allocate for the program is the program's to free.
static void blocks_of_the_library(void) {
    char *copy = strdup("text"), *line = NULL, *made = NULL, *streamed = NULL;
    CHECK(malloc_usable_size(copy) >= 5);
    free(copy);
    CHECK(asprintf(&made, "%0300d", 7) == 300 && malloc_usable_size(made) > 300);
    size_t capacity = 0, size = 0;
    FILE *file = fmemopen(made, 300, "r");
    CHECK(getline(&line, &capacity, file) == 300 && malloc_usable_size(line) >= capacity);
    fclose(file);
    file = open_memstream(&streamed, &size);
    for (int i = 0; i < 1000; i++) fprintf(file, "%d\n", i);
    fclose(file);
    CHECK(malloc_usable_size(streamed) > size && size == 3890);
    char *path = realpath("/", NULL), *folder = getcwd(NULL, 0);
    CHECK(strcmp(path, "/") == 0 && malloc_usable_size(path) >= 2 && malloc_usable_size(folder) > strlen(folder));
    free(line), free(made), free(streamed), free(path), free(folder);
}

static void of_glibc(void) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    errno = 0;
    CHECK(malloc_info(1, file) == -1 && errno == EINVAL);
    CHECK(malloc_info(0, file) == 0);
    fclose(file);
    CHECK(strncmp(text, "<malloc version=\"", 17) == 0);
    free(text);
    CHECK(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1 && mallopt(M_ARENA_MAX, 2) == 1);
    const struct mallinfo2 info = mallinfo2();
    CHECK(info.uordblks + info.fordblks == info.arena && info.smblks == 0 && info.fsmblks == 0 && info.usmblks == 0);
    CHECK(mallinfo().hblks == (int)info.hblks);
    void *volatile block = must_malloc(10 * MIB);
    memset(block, 1, 10 * MIB);
    free(block);
    CHECK_EQ(malloc_trim(0), 1);
    const char *way = getenv("ACRE_TEST_WAY");
    if (way == NULL || strcmp(way, "static") == 0) return;
    // The hooks that glibc 2.34 has removed: there are none to set.
    const char *hooks[] = {"__malloc_hook", "__realloc_hook", "__free_hook", "__memalign_hook", "__malloc_initialize_hook"};
    for (size_t i = 0; i < sizeof hooks / sizeof hooks[0]; i++) CHECK(dlsym(RTLD_DEFAULT, hooks[i]) == NULL);
}

int main(void) {
    fundamental_alignment();
    failed_realloc();
    null_pointers();
    alignments();
    free_keeps_errno();
    blocks_of_the_library();
    of_glibc();
    return 0;
}
