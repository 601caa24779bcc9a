// acre-test: not-static
// acre-test: libs=dl
// The acre_ twins are exported from the library, so that a preloaded one has them as well.
#include "loaded.h"
#include "twins.h"

int main(void) {
    struct Twins twins;
    void *unused;
    find(&twins.malloc_fn, "acre_malloc");
    find(&twins.calloc_fn, "acre_calloc");
    find(&twins.realloc_fn, "acre_realloc");
    find(&twins.reallocarray_fn, "acre_reallocarray");
    find(&twins.free_fn, "acre_free");
    find(&twins.free_sized_fn, "acre_free_sized");
    find(&twins.free_aligned_sized_fn, "acre_free_aligned_sized");
    find(&twins.aligned_alloc_fn, "acre_aligned_alloc");
    find(&twins.posix_memalign_fn, "acre_posix_memalign");
    find(&twins.memalign_fn, "acre_memalign");
    find(&twins.valloc_fn, "acre_valloc");
    find(&twins.pvalloc_fn, "acre_pvalloc");
    find(&twins.cfree_fn, "acre_cfree");
    find(&twins.malloc_usable_size_fn, "acre_malloc_usable_size");
    find(&twins.malloc_trim_fn, "acre_malloc_trim");
    find(&twins.owns_fn, "acre_owns");
    find(&unused, "acre_malloc_stats");
    find(&unused, "acre_malloc_info");
    find(&unused, "acre_mallinfo");
    find(&unused, "acre_mallinfo2");
    check_twins(&twins);
    return 0;
}
