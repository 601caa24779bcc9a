// jemalloc's mallocx and its kin, the older experimental allocm and its kin, and their twins.
#include "acre/jemalloc.h"

#include "entry/api.h"
#include "heap/wish.h"

using namespace acre;
using wish::Wish;

namespace {

// Bits 0-5: log2 of the alignment; 6: zeroed; 8-19: a cache's identifier + 2, which changes nothing here;
// 20-31: an arena's index + 1.
Wish wish_of(int flags) {
  Wish wish;
  wish.alignment = size_t{1} << (flags & 63);
  wish.zeroed = (flags & MALLOCX_ZERO) != 0;
  const unsigned arena = static_cast<unsigned>(flags) >> 20;
  if (arena != 0) wish.arena = arena - 1;
  return wish;
}

// Bits 0-5: log2 of the alignment; 6: zeroed; 7: not moved; 8-31: an arena's index + 1.
Wish old_wish_of(int flags) {
  Wish wish = wish_of(flags & (63 | ALLOCM_ZERO));
  const unsigned arena = static_cast<unsigned>(flags) >> 8;
  if (arena != 0) wish.arena = arena - 1;
  return wish;
}

size_t sum_or_most(size_t a, size_t b) { return b > SIZE_MAX - a ? SIZE_MAX : a + b; }

void tell(size_t* rsize, size_t bytes) {
  if (rsize != nullptr) *rsize = bytes;
}

// In place, and neither longer nor shorter than was asked for.
int reallocate_unmoved(void* block, size_t* rsize, size_t size, size_t extra, const Wish& wish) {
  const size_t most = sum_or_most(size, extra);
  const size_t bytes = wish::resize_in_place(block, size, most, wish, "rallocm");
  if (bytes < size || bytes > larger(wish::block_bytes(most, wish.alignment), wish::block_bytes(size, wish.alignment))) {
    return ALLOCM_ERR_NOT_MOVED;
  }
  tell(rsize, bytes);
  return ALLOCM_SUCCESS;
}

}  // namespace

extern "C" {

ACRE_EXPORT void* acre_mallocx(size_t size, int flags) { return wish::allocate(size, wish_of(flags)); }
ACRE_EXPORT void* acre_rallocx(void* block, size_t size, int flags) {
  return wish::reallocate(block, size, wish_of(flags), "rallocx");
}
ACRE_EXPORT size_t acre_xallocx(void* block, size_t size, size_t extra, int flags) {
  return wish::resize_in_place(block, size, sum_or_most(size, extra), wish_of(flags), "xallocx");
}
ACRE_EXPORT size_t acre_sallocx(const void* block, int) { return usable_size(block, "sallocx"); }
ACRE_EXPORT void acre_dallocx(void* block, int) { release(block); }
ACRE_EXPORT void acre_sdallocx(void* block, size_t, int) { release(block); }
ACRE_EXPORT size_t acre_nallocx(size_t size, int flags) { return wish::block_bytes(size, wish_of(flags).alignment); }

ACRE_EXPORT int acre_allocm(void** block, size_t* rsize, size_t size, int flags) {
  const Wish wish = old_wish_of(flags);
  void* p = wish::allocate(size, wish);
  if (p == nullptr) return ALLOCM_ERR_OOM;
  *block = p;
  tell(rsize, wish::block_bytes(size, wish.alignment));
  return ALLOCM_SUCCESS;
}
ACRE_EXPORT int acre_rallocm(void** block, size_t* rsize, size_t size, size_t extra, int flags) {
  const Wish wish = old_wish_of(flags);
  if ((flags & ALLOCM_NO_MOVE) != 0) return reallocate_unmoved(*block, rsize, size, extra, wish);
  void* p = wish::reallocate(*block, sum_or_most(size, extra), wish, "rallocm");
  if (p == nullptr && extra != 0) p = wish::reallocate(*block, size, wish, "rallocm");
  if (p == nullptr) return ALLOCM_ERR_OOM;
  *block = p;
  tell(rsize, usable_size(p, "rallocm"));
  return ALLOCM_SUCCESS;
}
ACRE_EXPORT int acre_sallocm(const void* block, size_t* rsize, int) {
  tell(rsize, usable_size(block, "sallocm"));
  return ALLOCM_SUCCESS;
}
ACRE_EXPORT int acre_dallocm(void* block, int) {
  release(block);
  return ALLOCM_SUCCESS;
}
ACRE_EXPORT int acre_nallocm(size_t* rsize, size_t size, int flags) {
  const size_t bytes = wish::block_bytes(size, old_wish_of(flags).alignment);
  if (bytes == 0) return ALLOCM_ERR_OOM;
  tell(rsize, bytes);
  return ALLOCM_SUCCESS;
}

#if !ACRE_PREFIX_ONLY
ACRE_EXPORT void* mallocx(size_t size, int flags) { return acre_mallocx(size, flags); }
ACRE_EXPORT void* rallocx(void* block, size_t size, int flags) { return acre_rallocx(block, size, flags); }
ACRE_EXPORT size_t xallocx(void* block, size_t size, size_t extra, int flags) {
  return acre_xallocx(block, size, extra, flags);
}
ACRE_EXPORT size_t sallocx(const void* block, int flags) { return acre_sallocx(block, flags); }
ACRE_EXPORT void dallocx(void* block, int flags) { acre_dallocx(block, flags); }
ACRE_EXPORT void sdallocx(void* block, size_t size, int flags) { acre_sdallocx(block, size, flags); }
ACRE_EXPORT size_t nallocx(size_t size, int flags) { return acre_nallocx(size, flags); }

ACRE_EXPORT int allocm(void** block, size_t* rsize, size_t size, int flags) {
  return acre_allocm(block, rsize, size, flags);
}
ACRE_EXPORT int rallocm(void** block, size_t* rsize, size_t size, size_t extra, int flags) {
  return acre_rallocm(block, rsize, size, extra, flags);
}
ACRE_EXPORT int sallocm(const void* block, size_t* rsize, int flags) { return acre_sallocm(block, rsize, flags); }
ACRE_EXPORT int dallocm(void* block, int flags) { return acre_dallocm(block, flags); }
ACRE_EXPORT int nallocm(size_t* rsize, size_t size, int flags) { return acre_nallocm(rsize, size, flags); }
#endif

}  // extern "C"
