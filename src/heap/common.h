// Common classes: those of more than 8 KiB (kOwnedMax).
//
// No thread owns a run of theirs: a run has few blocks, and one for each class and thread would be more memory than the
// blocks that live. The slow door takes one block of the bin's lowest run, under the bin's lock, and free gives it back to
// its run. Only so much is a thread's own: a few blocks that it has freed are its private list, of whichever runs they
// are. For their runs they stay used.
#pragma once

#include "heap/heap.h"

namespace acre::common {

// A block on such a list. How long the list is from here on stands in it, since malloc counts nothing.
struct Listed {
  Link link;
  uint32_t length;
};

inline uint32_t list_length(const Slot& slot) {
  return is_end(slot.head) ? 0 : reinterpret_cast<const Listed*>(slot.high | slot.head)->length;
}

// May this block of the class be put there as well?
inline bool has_room(const Slot& slot, const Slab* slab) {
  const uint32_t length = list_length(slot);
  return length == 0 || (length < run_shape(slab->size_class).most_kept && slot.high == high_part(slab->base));
}

// A block that is marked as free already (slab/free_list.h).
inline void push(Slot& slot, void* block) {
  auto* listed = static_cast<Listed*>(block);
  listed->length = list_length(slot) + 1;
  listed->link.next = slot.head;
  slot.high = high_part(address_of(block));
  slot.head = low_address(block);
}

}  // namespace acre::common
