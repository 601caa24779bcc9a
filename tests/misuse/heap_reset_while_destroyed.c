// expect: acre: an arena is reset or destroyed while another thread does that
// acre-test: libs=pthread not-preload
// A thread resets a heap while another one destroys it, and is just returning its memory.
#include "misuse.h"

#include <acre/heap.h>

static acre_heap_t *g_heap;
static int g_second_comes = 1;

static void *alloc(extent_hooks_t *hooks, void *address, size_t size, size_t alignment, bool *zero, bool *commit,
                   unsigned arena) {
    (void)hooks, (void)arena;
    CHECK(address == NULL && alignment <= 2 * MIB);
    *zero = *commit = true;
    const uintptr_t start = (uintptr_t)map_pages(size + 2 * MIB);
    return (void *)((start + 2 * MIB - 1) / (2 * MIB) * (2 * MIB));
}

static void *reset(void *heap) {
    acre_heap_reset((acre_heap_t *)heap);
    return NULL;
}

static bool dalloc(extent_hooks_t *hooks, void *address, size_t size, bool committed, unsigned arena) {
    (void)hooks, (void)address, (void)size, (void)committed, (void)arena;
    if (g_second_comes) {
        g_second_comes = 0;
        in_thread(reset, g_heap);
    }
    return false;
}

int main(void) {
    static extent_hooks_t hooks = {.alloc = alloc, .dalloc = dalloc};
    const struct acre_heap_settings settings = {.hooks = &hooks};
    g_heap = acre_heap_create(&settings);
    CHECK(acre_heap_malloc(g_heap, 100) != NULL);
    acre_heap_destroy(g_heap);
    return survived();
}
