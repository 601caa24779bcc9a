// Whether a pointer is the start of a carved block of its run, by one multiplication and one compare.
//
// Let d be the block size, M = floor(2^64 / d) + 1 and e = M*d - 2^64, so 1 <= e <= d. For an offset
// x = q*d + r (0 <= r < d) the product x*M mod 2^64 is q*e + r*M. If r = 0 that is q*e. Otherwise it is at
// least M, because q*e + (d-1)*M < 2^64 whenever (q+1)*e < M. With blocks of at most 32 KiB and runs of at
// most 256 KiB, q*e < 2^29 < M: so x*M < carved*e exactly when x is a multiple of d and q < carved.
// (After Lemire, Kaser, Kurz: Faster remainder by direct computation, 2019; the bound on q is ours.)
#pragma once

#include "base/atomics.h"
#include "slab/free_list.h"
#include "tables/size_class.h"

namespace acre {

struct Geometry {
  uint64_t divide;
  uint64_t excess;  // e
};

constexpr Geometry geometry_of(uint32_t block_bytes) {
  // floor(2^64/d): for a power of two ~0/d is one less than 2^64/d.
  uint64_t quotient = ~uint64_t{0} / block_bytes + (is_power_of_two(block_bytes) ? 1 : 0);
  uint64_t divide = quotient + 1;
  return {divide, divide * block_bytes};  // the product wraps: minus 2^64
}

struct Geometries {
  Geometry geometry[kSmallClasses];
  constexpr Geometries() : geometry() {
    for (SizeClass c = 0; c < kSmallClasses; ++c) geometry[c] = geometry_of(run_shape(c).block_bytes);
  }
};
inline constexpr Geometries kGeometries;

// For any thread. p may be no block at all, and the header may be in the making for a run elsewhere.
ACRE_ALWAYS_INLINE bool is_block_start(const Slab* slab, const void* p) {
  return (address_of(p) - relaxed_load(slab->base)) * relaxed_load(slab->divide) < relaxed_load(slab->limit);
}

// The link of a block that a list leads to. Ends the program if it is no free block of the run: the list is
// overwritten.
ACRE_ALWAYS_INLINE Link* checked_link(const Slab* slab, Link* link) {
  if (!is_block_start(slab, link) || !is_marked(link)) overwritten_list();
  return link;
}

inline uint32_t block_index(const Slab* slab, Address p) {
  return static_cast<uint32_t>((p - slab->base) / slab->block_bytes);
}

inline void set_carved(Slab* slab, unsigned carved) {
  slab->carved = static_cast<uint16_t>(carved);
  relaxed_store(slab->limit, carved * kGeometries.geometry[slab->size_class].excess);
}

constexpr bool geometry_holds() {
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    const Geometry& g = kGeometries.geometry[c];
    if (g.excess < 1 || g.excess > run_shape(c).block_bytes) return false;
    if ((run_shape(c).capacity + uint64_t{1}) * g.excess >= g.divide) return false;
  }
  return true;
}
static_assert(geometry_holds());

}  // namespace acre
