// The C library's names.
#include "entry/api.h"

#if !ACRE_PREFIX_ONLY

#include <malloc.h>

using namespace acre;

extern "C" {

// Each has its own cache line: with free across two lines, a program that computes with small blocks took 5 % longer.
ACRE_CACHE_ALIGNED ACRE_EXPORT void* malloc(size_t size) { return allocate(size); }
ACRE_CACHE_ALIGNED ACRE_EXPORT void free(void* block) { release(block); }
ACRE_EXPORT void* calloc(size_t count, size_t size) { return api::calloc(count, size); }
ACRE_EXPORT void* realloc(void* block, size_t size) { return api::realloc(block, size); }
ACRE_EXPORT void* reallocarray(void* block, size_t count, size_t size) {
  return api::reallocarray(block, count, size);
}
ACRE_EXPORT void free_sized(void* block, size_t size) { api::free_sized(block, size); }
ACRE_EXPORT void free_aligned_sized(void* block, size_t alignment, size_t size) {
  api::free_aligned_sized(block, alignment, size);
}
ACRE_EXPORT void cfree(void* block) { release(block, "cfree"); }
ACRE_EXPORT void* aligned_alloc(size_t alignment, size_t size) { return api::aligned_alloc(alignment, size); }
ACRE_EXPORT void* memalign(size_t alignment, size_t size) { return api::memalign(alignment, size); }
ACRE_EXPORT int posix_memalign(void** block, size_t alignment, size_t size) {
  return api::posix_memalign(block, alignment, size);
}
ACRE_EXPORT void* valloc(size_t size) { return allocate_aligned(size, os::page_bytes()); }
ACRE_EXPORT void* pvalloc(size_t size) { return api::pvalloc(size); }
ACRE_EXPORT size_t malloc_usable_size(void* block) { return api::malloc_usable_size(block); }
ACRE_EXPORT int malloc_trim(size_t pad) { return api::malloc_trim(pad); }
ACRE_EXPORT void malloc_stats() { api::malloc_stats(); }

#if ACRE_GLIBC
// glibc's other names for the functions, which some programs call. In musl these are its loader's own malloc.
ACRE_EXPORT void* __libc_malloc(size_t size) { return allocate(size); }
ACRE_EXPORT void __libc_free(void* block) { release(block); }
ACRE_EXPORT void* __libc_calloc(size_t count, size_t size) { return api::calloc(count, size); }
ACRE_EXPORT void* __libc_realloc(void* block, size_t size) { return api::realloc(block, size); }
ACRE_EXPORT void* __libc_memalign(size_t alignment, size_t size) { return api::memalign(alignment, size); }
ACRE_EXPORT void* __libc_valloc(size_t size) { return allocate_aligned(size, os::page_bytes()); }
ACRE_EXPORT void* __libc_pvalloc(size_t size) { return api::pvalloc(size); }
ACRE_EXPORT int __posix_memalign(void** block, size_t alignment, size_t size) {
  return api::posix_memalign(block, alignment, size);
}
#endif

}  // extern "C"

#endif
