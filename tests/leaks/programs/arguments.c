// What only acre has a pointer to: arguments for the program's functions, and a heap's hooks. No longer once the tag or the
// heap is gone, or the argument is replaced.
// leaks normal: 5 lose
// linked
#include "support.h"

#include <acre/acre.h>
#include <acre/heap.h>
#include <acre/tags.h>
#include <acre/tcmalloc.h>

static int on_tag(acre_tag_t *tag, size_t wanted, void *argument) { return tag == NULL && wanted == 0 && argument == NULL; }
static void on_heap(acre_heap_t *heap, size_t bytes, void *argument) { (void)heap, (void)bytes, (void)argument; }
static void on_soft_limit(size_t held, size_t limit, void *argument) { (void)held, (void)limit, (void)argument; }
static void *no_memory(void *opaque, size_t bytes, size_t *actual, size_t alignment) {
    (void)opaque, (void)bytes, (void)actual, (void)alignment;
    return NULL;
}

static NOINLINE acre_heap_t *make_heap(void *argument, extent_hooks_t *hooks) {
    struct acre_heap_settings settings = {.on_soft_limit = on_heap, .argument = argument, .hooks = hooks};
    return acre_heap_create(&settings);
}
static NOINLINE void keep(void) {
    acre_tag_on_limit(acre_tag("kept"), on_tag, malloc(10));
    make_heap(malloc(20), NULL);
    make_heap(NULL, calloc(1, sizeof(extent_hooks_t)));
    acre_on_soft_limit(on_soft_limit, malloc(30));
    acre_set_system_allocator(no_memory, malloc(40));
}
static NOINLINE void lose(void) {
    acre_tag_on_limit(acre_tag("dropped"), on_tag, malloc(10));
    acre_tag_drop(acre_tag("dropped"));
    acre_heap_destroy(make_heap(malloc(20), NULL));
    acre_heap_destroy(make_heap(NULL, calloc(1, sizeof(extent_hooks_t))));
    acre_on_soft_limit(on_soft_limit, malloc(30));
    acre_set_system_allocator(no_memory, malloc(40));
}

int main(void) {
    LOSE(lose());
    LOSE(keep());
    return 0;
}
