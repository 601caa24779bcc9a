// acre-test: not-preload
// acre's header declares the acre_ twins, and they link.
#include "twins.h"

#include <acre/acre.h>

int main(void) {
    const struct Twins twins = {
        .malloc_fn = acre_malloc,
        .calloc_fn = acre_calloc,
        .realloc_fn = acre_realloc,
        .reallocarray_fn = acre_reallocarray,
        .free_fn = acre_free,
        .free_sized_fn = acre_free_sized,
        .free_aligned_sized_fn = acre_free_aligned_sized,
        .aligned_alloc_fn = acre_aligned_alloc,
        .posix_memalign_fn = acre_posix_memalign,
        .memalign_fn = acre_memalign,
        .valloc_fn = acre_valloc,
        .pvalloc_fn = acre_pvalloc,
        .cfree_fn = acre_cfree,
        .malloc_usable_size_fn = acre_malloc_usable_size,
        .malloc_trim_fn = acre_malloc_trim,
        .owns_fn = acre_owns,
    };
    check_twins(&twins);

    acre_malloc_stats();
    return 0;
}
