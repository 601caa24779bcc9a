// What a live block keeps from going back to the system: free bytes of its run, which is returned when all of its blocks
// are free and not before.
//
// A sampled block lies in a run of sampled blocks, which says nothing about the runs of its unsampled siblings. So the
// sample has a *place*: the run that the thread's blocks of this size came from at that moment. The block would have
// come from there if nobody had sampled, and a sample stands for the blocks that did. What that run looks like now, with
// one live block more, is what such a block holds now. docs/profiling.md has the definition.
#pragma once

#include <cstddef>

#include "base/units.h"

namespace acre::held {

// A run holds something where at most one in so many of its blocks lives.
inline constexpr size_t kSparse = 2;

// The share of each of `live` blocks in what their run has free. 0 where more live than that.
double share(size_t live, size_t capacity, size_t block_bytes);

enum class Place : uint8_t {
  kBeside,   // an address in the run that it would have come from
  kItsOwn,   // the block itself: every block is sampled, and runs of sampled blocks are all there is
};

// What a live block of so many bytes holds. place 0: nothing that is known. Any thread, under any lock; what others
// change meanwhile makes it a figure of about now.
double bytes(size_t block_bytes, Address place, Place is);

}  // namespace acre::held
