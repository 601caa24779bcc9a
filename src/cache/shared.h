// Shared classes: those of more than 4 KiB (kOwnedMax).
//
// No thread owns a run of theirs: a run has few blocks, and one for each class and thread would be more memory than the
// blocks that live. The slow path takes one block of the bin's lowest run, under the bin's lock, and free gives it back to
// its run. Only so much is a thread's own: a few blocks that it has freed are its private list, of whichever runs they
// are. For their runs they stay used. The slot has the list's length, since no hot path takes from it.
#pragma once

#include "cache/heap.h"

namespace acre::shared {

// May this block of the class be put there as well?
inline bool has_room(const Slot& slot, const Slab* slab) {
  return slot.length < run_shape(slab->size_class).most_kept && (slot.high == high_part(slab->base) || slot.length == 0);
}

// A block that is marked as free (slab/free_list.h).
inline void push(Slot& slot, void* block) {
  link_of(block)->next = slot.head;
  slot.high = high_part(address_of(block));
  slot.head = low_address(block);
  ++slot.length;
}

}  // namespace acre::shared
