// How a run leaves the lists of a heap: for the owner (run_lists.cc) and for reclaimers (take_kept.cc).
#pragma once

#include "cache/heap.h"

namespace acre {

// Does everything but count `empties`.
ACRE_ALWAYS_INLINE void take_off_available(Heap& heap, RunLists& lists, Slab* slab) {
  lists.available.remove(slab);
  lists.low_water = smaller(lists.low_water, --lists.available_count);
  heap.kept_pages -= slab->pages;
}

// A reclaimer may have counted an empty run less that on_empty() has not counted.
ACRE_ALWAYS_INLINE void one_empty_less(RunLists& lists) {
  if (lists.empties != 0) --lists.empties;
}

ACRE_ALWAYS_INLINE void take_off_list(Heap& heap, Slab* slab) {
  if (slab->list == OwnersList::kAvailable) {
    take_off_available(heap, heap.use(slab->size_class).lists, slab);
  } else {
    heap.adopted.remove(slab);
    heap.kept_pages -= slab->pages;
  }
}

// Counts the blocks that the thread has freed in a run that the heap gives up.
ACRE_ALWAYS_INLINE void count_freed(Heap& heap, const Slab* slab) {
  heap.use(slab->size_class).blocks.freed += slab::deferred_count(slab);
}

}  // namespace acre
