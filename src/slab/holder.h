// What the holder of a run (slab.h) does with its blocks: carve them, put freed ones on the deferred list, take them
// off. The run's state stays. "free" in names means free blocks.
#pragma once

#include "slab/free_list.h"
#include "slab/geometry.h"
#include "slab/word.h"

namespace acre::slab {

// Blocks of an owned run that are with the program, on a private list, in an outbox or on the remote list.
inline uint32_t used(const Slab* slab) { return static_cast<uint32_t>(slab->countdown + slab->floor); }
// Blocks on the deferred list of an owned run. If the run is open: blocks that the next settle() counts.
inline uint32_t deferred_count(const Slab* slab) { return slab->carved - used(slab); }

// Sets the number of used blocks at which the owner's free takes the slow path.
inline void count_down(Slab* slab, uint32_t used_blocks, int32_t floor) {
  slab->floor = static_cast<int16_t>(floor);
  slab->countdown = static_cast<int32_t>(used_blocks) - floor;
}
// A floor that is never reached, for a current run that is not open.
inline constexpr int32_t kNever = -1;

// The owner frees a block. It goes onto the deferred list, or, if the run is open, onto the owner's private list.
ACRE_ALWAYS_INLINE void defer(Slab* slab, void* block) {
  LowAddress* list = slab->free_list;
  write_link(slab, block, *list);
  release_store(*list, low_address(block));  // pairs with find_hostage() and unshare(), which follow the links
  release_decrement(slab->countdown);        // the last store: pairs with is_all_free() and find_hostage()
}

// Opens a run whose deferred list is empty: the owner's frees go onto `list`, until `frees` blocks were freed and the
// slow path is taken. All blocks count as used, but for those freed since the last settle().
inline void open(Slab* slab, LowAddress* list, uint32_t frees) {
  slab->free_list = list;
  count_down(slab, slab->carved, static_cast<int32_t>(slab->carved - frees));
}
inline bool is_open(const Slab* slab) { return slab->free_list != &slab->deferred; }

// For an open run: the number of blocks freed since it was opened or settled. They count as used from now on.
inline uint32_t settle(Slab* slab) {
  const uint32_t freed = deferred_count(slab);
  slab->floor = static_cast<int16_t>(slab->floor + static_cast<int32_t>(freed));
  return freed;
}

// From now on the owner's frees go to the deferred list. An open run has to be settled before.
inline void close(Slab* slab) {
  slab->free_list = &slab->deferred;
  count_down(slab, used(slab), kNever);
}

// Takes the deferred blocks as a list. They count as used from now on.
inline LowAddress take_deferred(Slab* slab) {
  LowAddress head = slab->deferred;
  slab->deferred = kEndOfList;
  count_down(slab, slab->carved, slab->floor);
  return head;
}

// Carves `count` more blocks into a list that ends in `tail`. They count as used from now on.
LowAddress carve(Slab* slab, uint32_t count, LowAddress tail);

// The same without the counting.
LowAddress cut(Slab* slab, uint32_t count, LowAddress tail);

// Takes the remote list of an owned run. Its blocks were counted as used all along. Adds their number to *sum.
LowAddress collect_remote(Slab* slab, uint64_t* sum);

// Puts a list of blocks that was taken back onto the deferred list. Returns their number, at least 1.
uint32_t return_list(Slab* slab, LowAddress head);

inline void set_list(Slab* slab, OwnersList list) { slab->list = list; }

}  // namespace acre::slab
