// free, the hot path.
#pragma once

#include "cache/heap.h"
#include "slab/unit_table.h"

namespace acre {

// Everything but a plain block of a run: null, foreign and misused pointers, large blocks, runs without a place in the
// unit table.
void release_slow(void* p);

// A block of a run that the calling thread does not own.
void release_elsewhere(Slab* slab, void* p);

// The countdown of the owned run that a block was freed in has reached zero.
void release_event(Slab* slab);

// The same, but for a pointer into no run of acre's it calls foreign(p, form, alignment, caller) in place of ending the
// program. caller: where the program goes on, if this was reached by jumps alone.
using Foreign = void(void* p, unsigned form, size_t alignment, const void* caller);
void release_slow_or(void* p, unsigned form, size_t alignment, Foreign* foreign);

// slab: the header that belongs to p, or the header of no run. slow(p): as release_slow.
template <class Slow>
ACRE_ALWAYS_INLINE void release_at(Slab* slab, void* p, Slow slow) {
  if (ACRE_UNLIKELY(!is_block_start(slab, p))) return slow(p);
  if (ACRE_UNLIKELY(is_marked(slab, p))) return slow(p);  // free already? (slab/free_list.h)
  if (ACRE_UNLIKELY(relaxed_load(slab->owner) != this_thread())) return release_elsewhere(slab, p);
  slab::defer(slab, p);
  if (ACRE_UNLIKELY(slab->countdown == 0)) release_event(slab);
}

ACRE_ALWAYS_INLINE void release(void* p) { release_at(unit_table::at(p), p, release_slow); }

}  // namespace acre
