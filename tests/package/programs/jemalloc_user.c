/* Linked with a library whose name is libjemalloc.so.2. On acre, its answers are acre's. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen);
void malloc_stats_print(void (*write_cb)(void *, const char *), void *opaque, const char *opts);
size_t malloc_usable_size(void *block);
void *mallocx(size_t size, int flags);
size_t nallocx(size_t size, int flags);
void dallocx(void *block, int flags);
extern void (*malloc_message)(void *opaque, const char *text);

const char *malloc_conf = "dirty_decay_ms:4321,lg_extent_max_active_fit:4";

static size_t printed;

static void count(void *opaque, const char *text) {
    (void)opaque;
    printed += strlen(text);
}

int main(int argc, char **argv) {
    const char *version = "";
    ptrdiff_t decay_ms = 0;
    size_t size = sizeof version;
    if (mallctl("version", &version, &size, NULL, 0) != 0) return 2;
    size = sizeof decay_ms;
    if (mallctl("opt.dirty_decay_ms", &decay_ms, &size, NULL, 0) != 0 || decay_ms != 4321) return 3;
    void *block = mallocx(100, 6 | 0x40);
    if (block == NULL || malloc_usable_size(block) != nallocx(100, 6)) return 4;
    free(block);
    dallocx(malloc(100), 0);
    malloc_message = count;
    malloc_stats_print(NULL, NULL, NULL);
    if (printed < 100) return 5;
    return argc > 1 && strcmp(version, argv[1]) == 0 ? 0 : 6;
}
