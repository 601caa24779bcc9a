// The current run of a class. As a rule it is *open*: a block that the owner frees goes straight onto the private list,
// and malloc returns the block that was freed last, while the processor's caches still hold it.
//
// The run's countdown limits how many blocks may be freed this way before the slow path is taken: kFreesUnseen, or,
// while blocks are sampled (observe/sampler.h), the number of blocks that may pass before a sampled one. If no block
// may pass, the run is closed, and the blocks wait on its deferred list for the next refill.
#pragma once

#include "cache/heap.h"
#include "cache/upcalls.h"

namespace acre::current {

inline constexpr uint32_t kFreesUnseen = 256;

// Opens the current run after a refill from it, which has emptied its deferred list. While blocks are sampled, closes
// it instead: sampler::allocate() opens it when it knows how many blocks may pass.
inline void after_refill(Heap& heap, SizeClass c, Slab* slab) {
  if (ACRE_UNLIKELY(sampler::is_on())) return slab::close(slab);
  slab::open(slab, &heap.slots[c].head, kFreesUnseen);
}

// Opens the current run until `may_pass` blocks were freed; 0: closes it. Does nothing if its deferred list has blocks.
void open_again(Heap& heap, SizeClass c, uint32_t may_pass);

// The slow part of settle().
void settle_some(Heap& heap, SizeClass c);

// Counts the blocks that were freed onto the private list since the last count.
inline void settle(Heap& heap, SizeClass c) {
  const Slab* slab = heap.use(c).lists.current;
  if (slab != nullptr && slab::is_open(slab) && slab::deferred_count(slab) != 0) settle_some(heap, c);
}

// From now on, blocks that the owner frees in the current run go to its deferred list.
void close(Heap& heap, SizeClass c);

// Called after a free when the countdown of the current run has reached zero.
void on_countdown(Heap& heap, SizeClass c);

}  // namespace acre::current
