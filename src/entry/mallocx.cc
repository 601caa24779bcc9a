// jemalloc's mallocx family and its older, experimental allocm family, under acre_ and plain names.
#include "acre/jemalloc.h"

#include "cache/sampled_run.h"
#include "entry/api.h"
#include "manual/request.h"

using namespace acre;
using request::Request;

namespace {

// Bits 0-5: log2 of the alignment. 6: zeroed. 8-19: a thread cache's number + 2, ignored, or 1: none. 20-31: an arena's
// index + 1.
Request request_of(int flags) {
  Request request;
  request.alignment = size_t{1} << (flags & 63);
  request.zeroed = (flags & MALLOCX_ZERO) != 0;
  const unsigned arena = static_cast<unsigned>(flags) >> 20;
  if (arena != 0) request.arena = arena - 1;
  return request;
}

void release_by(void* block, int flags, const char* name) {
  constexpr int kCache = 0xfff << 8;
  (flags & kCache) == MALLOCX_TCACHE_NONE ? request::release_uncached(block) : release(block, name);
}

// Bits 0-5: log2 of the alignment. 6: zeroed. 7: must not move. 8-31: an arena's index + 1.
Request old_request_of(int flags) {
  Request request = request_of(flags & (63 | ALLOCM_ZERO));
  const unsigned arena = static_cast<unsigned>(flags) >> 8;
  if (arena != 0) request.arena = arena - 1;
  return request;
}

size_t sum_or_most(size_t a, size_t b) { return b > SIZE_MAX - a ? SIZE_MAX : a + b; }

void tell(size_t* rsize, size_t bytes) {
  if (rsize != nullptr) *rsize = bytes;
}

// Resizes in place, to no fewer and no more bytes than the request allows.
int reallocate_unmoved(void* block, size_t* rsize, size_t size, size_t extra, const Request& request) {
  const size_t most = sum_or_most(size, extra);
  const size_t bytes = request::resize_in_place(block, size, most, request, "rallocm");
  if (bytes < size || bytes > larger(request::block_bytes(most, request.alignment), request::block_bytes(size, request.alignment))) {
    return ALLOCM_ERR_NOT_MOVED;
  }
  tell(rsize, bytes);
  return ALLOCM_SUCCESS;
}

}  // namespace

extern "C" {

ACRE_EXPORT void* acre_mallocx(size_t size, int flags) { return request::allocate(size, request_of(flags)); }
ACRE_EXPORT void* acre_rallocx(void* block, size_t size, int flags) {
  return request::reallocate(block, size, request_of(flags), "rallocx");
}
ACRE_EXPORT size_t acre_xallocx(void* block, size_t size, size_t extra, int flags) {
  return request::resize_in_place(block, size, sum_or_most(size, extra), request_of(flags), "xallocx");
}
ACRE_EXPORT size_t acre_sallocx(const void* block, int) { return usable_size(block, "sallocx"); }
ACRE_EXPORT void acre_dallocx(void* block, int flags) { release_by(block, flags, "dallocx"); }
ACRE_EXPORT void acre_sdallocx(void* block, size_t size, int flags) {
  const api::AlignedSizeOf fits{size, request_of(flags).alignment};
  const Slab* slab = unit_table::at(block);
  if (ACRE_UNLIKELY(!is_block_start(slab, block) || !fits(slab))) check_size(block, size, fits.alignment, "sdallocx");
  if (ACRE_UNLIKELY(t_heap->kind == HeapKind::kObserved)) note_sized(block);
  release_by(block, flags, "sdallocx");
}
ACRE_EXPORT size_t acre_nallocx(size_t size, int flags) {
  sampled_runs::g_are_sizes_told.store(true, std::memory_order_relaxed);
  return request::block_bytes(size, request_of(flags).alignment);
}

ACRE_EXPORT int acre_allocm(void** block, size_t* rsize, size_t size, int flags) {
  const Request request = old_request_of(flags);
  void* p = request::allocate(size, request);
  if (p == nullptr) return ALLOCM_ERR_OOM;
  *block = p;
  tell(rsize, request::block_bytes(size, request.alignment));
  return ALLOCM_SUCCESS;
}
ACRE_EXPORT int acre_rallocm(void** block, size_t* rsize, size_t size, size_t extra, int flags) {
  const Request request = old_request_of(flags);
  if ((flags & ALLOCM_NO_MOVE) != 0) return reallocate_unmoved(*block, rsize, size, extra, request);
  void* p = request::reallocate(*block, sum_or_most(size, extra), request, "rallocm");
  if (p == nullptr && extra != 0) p = request::reallocate(*block, size, request, "rallocm");
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
  release(block, "dallocm");
  return ALLOCM_SUCCESS;
}
ACRE_EXPORT int acre_nallocm(size_t* rsize, size_t size, int flags) {
  const size_t bytes = request::block_bytes(size, old_request_of(flags).alignment);
  if (bytes == 0) return ALLOCM_ERR_OOM;
  tell(rsize, bytes);
  return ALLOCM_SUCCESS;
}

#if !ACRE_PREFIX_ONLY
ACRE_PLAIN_NAME(mallocx);
ACRE_PLAIN_NAME(rallocx);
ACRE_PLAIN_NAME(xallocx);
ACRE_PLAIN_NAME(sallocx);
ACRE_PLAIN_NAME(dallocx);
ACRE_PLAIN_NAME(sdallocx);
ACRE_PLAIN_NAME(nallocx);
ACRE_PLAIN_NAME(allocm);
ACRE_PLAIN_NAME(rallocm);
ACRE_PLAIN_NAME(sallocm);
ACRE_PLAIN_NAME(dallocm);
ACRE_PLAIN_NAME(nallocm);
#endif

}  // extern "C"
