// expect: acre: an arena that was destroyed is reset or destroyed again
// acre-test: not-preload
// Heaps that were destroyed, most of which have gone back to the system since: one of these is destroyed again.
#include "misuse.h"

#include <acre/heap.h>

enum { kHeaps = 1000 };

int main(void) {
    static acre_heap_t *heaps[kHeaps];
    for (int i = 0; i < kHeaps; i++) {
        heaps[i] = acre_heap_create(NULL);
        CHECK(acre_heap_malloc(heaps[i], 100) != NULL);
    }
    for (int i = 0; i < kHeaps; i++) acre_heap_destroy(heaps[i]);
    acre_heap_destroy(heaps[kHeaps / 2]);
    return survived();
}
