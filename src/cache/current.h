// The current run of a class, which is *open* as a rule: what its thread frees in it goes straight onto the private list,
// and malloc hands out first what was freed last, as long as processors' caches have it.
//
// The run's countdown says how many blocks may be freed so until the slow path hears of it: kFreesUnseen of them, or, while
// blocks are sampled (sampler.h), as many as may pass before one that is to be seen. If none may, the run is closed, and
// the blocks wait on its deferred list for the next refill.
#pragma once

#include "cache/heap.h"
#include "cache/upcalls.h"

namespace acre::current {

inline constexpr uint32_t kFreesUnseen = 256;

// The class was refilled from its current run, whose deferred list is empty: opens it. While blocks are sampled, it is closed,
// and opened again when it is known how many of them may pass (sampler.cc).
inline void after_refill(Heap& heap, SizeClass c, Slab* slab) {
  if (ACRE_UNLIKELY(sampler::is_on())) return slab::close(slab);
  slab::open(slab, &heap.slots[c].head, kFreesUnseen);
}

// Opens the current run, if there is one and its deferred list is empty, as far as so many blocks may pass the sampler.
void open_again(Heap& heap, SizeClass c, uint32_t may_pass);

// The longer half of settle().
void settle_some(Heap& heap, SizeClass c);

// Counts what was freed onto the private list since it was last counted.
inline void settle(Heap& heap, SizeClass c) {
  const Slab* slab = heap.use(c).lists.current;
  if (slab != nullptr && slab::is_open(slab) && slab::deferred_count(slab) != 0) settle_some(heap, c);
}

// The current run's blocks go to its deferred list from now on.
void close(Heap& heap, SizeClass c);

// As many blocks were freed onto the private list as the slow path was not to hear of.
void on_countdown(Heap& heap, SizeClass c);

}  // namespace acre::current
