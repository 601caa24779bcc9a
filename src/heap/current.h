// The current run of a class, which is *open* as a rule: what its thread frees in it goes straight onto the private list,
// and malloc hands out first what was freed last, as long as processors' caches have it.
//
// The run's countdown says how many blocks may be freed so until the slow door hears of it: kFreesUnseen of them, or, while
// blocks are watched (watch.h), as many as may pass before one that is to be seen. If none may, the run is closed, and
// the blocks wait on its deferred list for the next refill.
#pragma once

#include "heap/heap.h"
#include "heap/watch.h"

namespace acre::current {

inline constexpr uint32_t kFreesUnseen = 256;

// The longer halves of open() and settle().
void open_watched(Heap& heap, SizeClass c, Slab* slab);
void settle_some(Heap& heap, SizeClass c);

// Opens the class's current run, whose deferred list is empty, as far as the watcher allows, and closes it otherwise.
inline void open(Heap& heap, SizeClass c, Slab* slab) {
  if (ACRE_UNLIKELY(watch::is_on())) return open_watched(heap, c, slab);
  slab::open(slab, &heap.slots[c].head, kFreesUnseen);
}

// The same if there is one, and its deferred list is empty.
void open_again(Heap& heap, SizeClass c);

// Counts what was freed onto the private list since it was last counted.
inline void settle(Heap& heap, SizeClass c) {
  const Slab* slab = heap.shelves[c].current;
  if (slab != nullptr && slab::is_open(slab) && slab::deferred_count(slab) != 0) settle_some(heap, c);
}

// The current run's blocks go to its deferred list from now on.
void close(Heap& heap, SizeClass c);

// As many blocks were freed onto the private list as the slow door was not to hear of.
void on_countdown(Heap& heap, SizeClass c);

}  // namespace acre::current
