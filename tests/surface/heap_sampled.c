// acre-test: not-preload env=ACRE_CONF=prof:true,prof_sample:0
// The small blocks of a heap, each of them a sample of the heap profile, in whole pages: a free that tells size and
// alignment is right for every size and alignment that the block was asked with.
#include "check.h"

#include <acre/acre.h>
#include <acre/heap.h>

int main(void) {
    acre_heap_t *heap = acre_heap_create(NULL);
    for (size_t alignment = 8; alignment <= 64 * KIB; alignment *= 2) {
        for (size_t size = 1; size <= 40000; size += 1 + size / 3) {
            void *block = acre_heap_aligned_alloc(heap, alignment, size);
            CHECK_AT(block != NULL && is_aligned(block, alignment), size);
            memset(block, 1, size);
            acre_free_aligned_sized(block, alignment, size);
            block = acre_heap_malloc(heap, size);
            acre_free_sized(block, size);
        }
    }
    acre_heap_destroy(heap);
    return 0;
}
