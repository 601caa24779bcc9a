// What the holder of a run does with it: cut blocks, put freed ones on the deferred list, take them off. None of it changes
// the run's state. "free" in names means free blocks.
#pragma once

#include "slab/free_list.h"
#include "slab/geometry.h"
#include "slab/word.h"

namespace acre::slab {

// Blocks of an owned run that are with the program, on a private list, in an outbox or on the remote list.
inline uint32_t used(const Slab* slab) { return static_cast<uint32_t>(slab->countdown + slab->floor); }
// Blocks on the deferred list of an owned run. Of an open run: the blocks that the next settle() counts.
inline uint32_t deferred_count(const Slab* slab) { return slab->carved - used(slab); }

// Sets at how many used blocks the owner's free takes the slow path.
inline void count_down(Slab* slab, uint32_t used_blocks, int32_t floor) {
  slab->floor = floor;
  slab->countdown = static_cast<int32_t>(used_blocks) - floor;
}
// A floor that is never reached: that of a current run which is not open.
inline constexpr int32_t kNever = -1;

// The owner frees a block. It goes onto the deferred list, or, of an open run, onto the owner's private list.
ACRE_ALWAYS_INLINE void defer(Slab* slab, void* block) {
  LowAddress* list = slab->free_list;
  write_link(slab, block, *list);
  release_store(*list, low_address(block));  // pairs with find_hostage() and unshare(), which follow the links
  release_decrement(slab->countdown);        // the last store: pairs with is_all_free() and find_hostage()
}

// Opens a run whose deferred list is empty: what the owner frees goes onto this list, `frees` blocks until the slow path
// is taken. All blocks of the run stay used, but for those that were freed so and are not settled.
inline void open(Slab* slab, LowAddress* list, uint32_t frees) {
  slab->free_list = list;
  count_down(slab, slab->carved, static_cast<int32_t>(slab->carved - frees));
}
inline bool is_open(const Slab* slab) { return slab->free_list != &slab->deferred; }

// Of an open run: how many blocks were freed since it was opened or settled. They count as used from now on.
inline uint32_t settle(Slab* slab) {
  const uint32_t freed = deferred_count(slab);
  slab->floor += static_cast<int32_t>(freed);
  return freed;
}

// What the owner frees goes to the deferred list. An open run has to be settled.
inline void close(Slab* slab) {
  slab->free_list = &slab->deferred;
  count_down(slab, used(slab), kNever);
}

// The deferred blocks as a list; they count as used from now on.
inline LowAddress take_deferred(Slab* slab) {
  LowAddress head = slab->deferred;
  slab->deferred = kEndOfList;
  count_down(slab, slab->carved, slab->floor);
  return head;
}

// Cuts `count` more blocks into a list that ends in `tail`; they count as used from now on.
LowAddress carve(Slab* slab, uint32_t count, LowAddress tail);

// The same, but for the counting.
LowAddress cut(Slab* slab, uint32_t count, LowAddress tail);

// The remote list of an owned run; its blocks were counted as used all along. Their number is added to *sum.
LowAddress collect_remote(Slab* slab, uint64_t* sum);

// Puts a list that was taken, and has blocks, back: deferred again. Returns their number.
uint32_t return_list(Slab* slab, LowAddress head);

// Notes which of its owner's lists the run is in.
inline void set_list(Slab* slab, OwnersList list) { slab->list = list; }

}  // namespace acre::slab
