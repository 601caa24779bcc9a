// The C library's functions as the standards define them, over the thread cache. The plain names (libc.cc) and the
// acre_ names (acre_names.cc) are one-liners over these.
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/free.h"
#include "cache/malloc.h"
#include "os/os.h"

namespace acre::api {

// For a size that overflows.
inline void* out_of_memory() { return acre::out_of_memory(SIZE_MAX); }

ACRE_ALWAYS_INLINE void* calloc(size_t count, size_t size) {
  size_t bytes;
  if (ACRE_UNLIKELY(__builtin_mul_overflow(count, size, &bytes))) return out_of_memory();
  return allocate_zeroed(bytes);
}

// As glibc: with size 0 it frees the block and returns null.
inline void* realloc(void* block, size_t size) {
  if (block == nullptr) return allocate(size);
  if (size == 0) {
    count_zero_realloc();
    release(block);
    return nullptr;
  }
  return reallocate(block, size);
}

inline void* reallocarray(void* block, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return out_of_memory();
  return realloc(block, bytes);
}

// The alignment is that of the request: blocks for requests with one may be of a larger class.
struct AlignedSizeOf {
  size_t n, alignment;
  bool operator()(const Slab* slab) const { return class_for_aligned(n, alignment) == slab->size_class; }
};

ACRE_ALWAYS_INLINE void free_sized(void* block, size_t size) {
  release_at(unit_table::at(block), block, [=](void* p) { release_slow_sized(p, size, 1, "free_sized"); },
             release_elsewhere_sized, SizeOf{size});
}

void free_aligned_sized(void* block, size_t alignment, size_t size);

inline size_t to_power_of_two(size_t alignment) {
  if (is_power_of_two(alignment)) return alignment;
  return alignment == 0 ? 1 : size_t{1} << (floor_log2(alignment) + 1);
}

// As glibc's memalign: an alignment that is no power of two is rounded up to one.
inline void* memalign(size_t alignment, size_t size) {
  if (alignment > SIZE_MAX / 2 + 1) {
    errno = EINVAL;
    return nullptr;
  }
  return allocate_aligned(size, to_power_of_two(alignment));
}

// C17: the alignment must be one that the implementation supports. acre supports powers of two.
inline void* aligned_alloc(size_t alignment, size_t size) {
  if (!is_power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return allocate_aligned(size, alignment);
}

inline int posix_memalign(void** block, size_t alignment, size_t size) {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  int saved = errno;
  void* p = allocate_aligned(size, alignment);
  errno = saved;
  if (p == nullptr) return ENOMEM;
  *block = p;
  return 0;
}

void* pvalloc(size_t size);

inline size_t malloc_usable_size(const void* block) {
  return block == nullptr ? 0 : usable_size(block, "malloc_usable_size");
}

int malloc_trim(size_t pad);

// Gives at least so many bytes of free pages back to the OS, or all. Returns the bytes given back.
size_t release_memory(size_t bytes);

void malloc_stats();
int owns(const void* block);

}  // namespace acre::api
