// How many free bytes a live block keeps from going back to the system. A run goes back only when all of its blocks are
// free, so its live blocks hold the free bytes.
//
// A sampled block lies in a run of sampled blocks, which says nothing about the runs of unsampled blocks. Each sample
// therefore has a *place*: the run from which the thread took blocks of this size at that moment. Without sampling the
// block would have come from there, as did the blocks that the sample stands for. What such a block holds now is
// computed from that run as it is now, with one live block more. docs/profiling.md has the definition.
#pragma once

#include <cstddef>

#include "base/units.h"

namespace acre::held {

// The blocks of a run hold bytes only if at most one block in so many is live.
inline constexpr size_t kSparse = 2;

// Returns the free bytes of the run that each of its `live` blocks holds. 0 if the run is not sparse.
double share(size_t live, size_t capacity, size_t block_bytes);

enum class Place : uint8_t {
  kBeside,   // an address in the run that the block would have come from
  kItsOwn,   // the block itself: every block is sampled, so all runs are runs of sampled blocks
};

// Returns how many bytes a live block of this size holds; 0 if place is 0 (not known). Any thread may call this
// function, under any lock. Concurrent changes make the result approximate.
double bytes(size_t block_bytes, Address place, Place is);

}  // namespace acre::held
