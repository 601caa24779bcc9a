// Slab runs as a jemalloc with a quantum of 8 bytes would have them: 8, 16, 24 … 64 bytes, then four classes for each
// doubling. Valkey moves blocks together by these figures, and checks the sizes when it starts.
//
// A bin stands for the classes of acre whose blocks fit it and not the bin below: one or two, or none. So that it has
// one number of blocks a run, the live blocks of each class are scaled. A run that has a free block still has one after
// scaling. The run that the calling thread allocates from counts as full, because a block moved from there would land
// there. So does a block that the heap profiler has sampled.
#pragma once

#include "control/utilization.h"

namespace acre::ctl::quantum8 {

inline constexpr size_t kQuantum = 8;

constexpr size_t bin_bytes(unsigned bin) {
  if (bin < 8) return (bin + 1) * kQuantum;
  const size_t doubling = size_t{64} << (bin - 8) / 4;
  return doubling + doubling / 4 * ((bin - 8) % 4 + 1);
}
constexpr unsigned bin_of(size_t bytes) {
  unsigned bin = 0;
  while (bin_bytes(bin) < bytes) ++bin;
  return bin;
}
inline constexpr unsigned kBins = bin_of(kSmallMax) + 1;
static_assert(bin_bytes(kBins - 1) == kSmallMax);

// Blocks a run: those of the largest class of the bin.
constexpr uint32_t bin_blocks(unsigned bin) {
  const SizeClass c = class_of_size(bin_bytes(bin));
  return size_of_class(c) > bin_bytes(bin) || bin_of(size_of_class(c)) != bin
             ? static_cast<uint32_t>(kUnitPayload / bin_bytes(bin)) : run_shape(c).capacity;
}

constexpr size_t run_bytes(unsigned bin) { return bin_bytes(bin) * bin_blocks(bin); }

struct BinFill {
  size_t live = 0;
  size_t runs = 0;
  size_t nonfull = 0;
};
BinFill fill_of_bin(const Call& call);  // index: the arena; second: the bin

// As query_utilizations().
Handler query;

}  // namespace acre::ctl::quantum8
