// The C library's names with allocation tokens.
#include "entry/tokens.h"

#include <string.h>

#include "entry/api.h"

#if !ACRE_PREFIX_ONLY

using namespace acre;

namespace {

void* for_pointers(size_t n, size_t alignment = 1, bool zeroed = false) {
  return hardened::allocate_for_pointers({n, alignment, Kind::kMalloc, zeroed});
}

ACRE_APART void* malloc_for(bool is_apart, size_t size) { return is_apart ? for_pointers(size) : allocate(size); }

ACRE_APART void* calloc_for(bool is_apart, size_t count, size_t size) {
  size_t bytes;
  if (!is_apart || __builtin_mul_overflow(count, size, &bytes)) return api::calloc(count, size);
  return for_pointers(bytes, 1, true);
}

// A block that was for another kind of type moves.
ACRE_COLD void* reallocate_hardened(bool is_apart, void* p, size_t n) {
  const bool is_nothing = hardened::is_nothing(p);
  if (is_nothing) hardened::check_nothing(p, "realloc");
  const Found found = is_nothing ? Found{} : find_live_block(p, "realloc");
  if (!is_nothing && (hardened::is_for_pointers(found) == is_apart || is_manual(found))) return reallocate(p, n);
  const size_t old_n = is_nothing ? 0 : program_bytes(found, p, "realloc");
  if (!is_nothing) hardened::check_may_free(found, p, "realloc", Kind::kMalloc);
  void* moved = malloc_for(is_apart, n);
  if (moved == nullptr) return nullptr;
  if (!is_nothing) memcpy(moved, p, smaller(n, old_n));
  release(p);
  return moved;
}

ACRE_APART void* realloc_for(bool is_apart, void* p, size_t n) {
  if (p == nullptr) return malloc_for(is_apart, n);
  return hardened::is_on() && n != 0 ? reallocate_hardened(is_apart, p, n) : api::realloc(p, n);
}

ACRE_APART void* reallocarray_for(bool is_apart, void* p, size_t count, size_t size) {
  size_t bytes;
  return __builtin_mul_overflow(count, size, &bytes) ? api::out_of_memory() : realloc_for(is_apart, p, bytes);
}

ACRE_APART void* memalign_for(bool is_apart, size_t alignment, size_t size) {
  if (!is_apart || alignment > SIZE_MAX / 2 + 1) return api::memalign(alignment, size);
  return for_pointers(size, api::to_power_of_two(alignment));
}

ACRE_APART void* aligned_alloc_for(bool is_apart, size_t alignment, size_t size) {
  if (!is_apart || !is_power_of_two(alignment)) return api::aligned_alloc(alignment, size);
  return for_pointers(size, alignment);
}

ACRE_APART int posix_memalign_for(bool is_apart, void** block, size_t alignment, size_t size) {
  if (!is_apart || !is_power_of_two(alignment) || alignment % sizeof(void*) != 0) {
    return api::posix_memalign(block, alignment, size);
  }
  const int saved = errno;
  void* p = for_pointers(size, alignment);
  errno = saved;
  if (p == nullptr) return ENOMEM;
  *block = p;
  return 0;
}

ACRE_APART void* valloc_for(bool is_apart, size_t size) {
  return is_apart ? for_pointers(size, os::page_bytes()) : allocate_aligned(size, os::page_bytes());
}

ACRE_APART void* pvalloc_for(bool is_apart, size_t size) {
  if (!is_apart || size > PTRDIFF_MAX) return api::pvalloc(size);
  const size_t page = os::page_bytes();
  return hardened::allocate_for_pointers({size == 0 ? page : align_up(size, page), page, Kind::kRounded});
}

}  // namespace

#pragma GCC diagnostic ignored "-Wmissing-declarations"

extern "C" {

ACRE_TOKENS(void*, malloc, malloc_for, (size_t size), (size))
ACRE_TOKENS(void*, calloc, calloc_for, (size_t count, size_t size), (count, size))
ACRE_TOKENS(void*, realloc, realloc_for, (void* block, size_t size), (block, size))
ACRE_TOKENS(void*, reallocarray, reallocarray_for, (void* block, size_t count, size_t size), (block, count, size))
ACRE_TOKENS(void*, memalign, memalign_for, (size_t alignment, size_t size), (alignment, size))
ACRE_TOKENS(void*, aligned_alloc, aligned_alloc_for, (size_t alignment, size_t size), (alignment, size))
ACRE_TOKENS(int, posix_memalign, posix_memalign_for, (void** block, size_t alignment, size_t size),
            (block, alignment, size))
ACRE_TOKENS(void*, valloc, valloc_for, (size_t size), (size))
ACRE_TOKENS(void*, pvalloc, pvalloc_for, (size_t size), (size))

}  // extern "C"

#endif
