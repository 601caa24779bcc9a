// What the holder of a run (slab.h) does with its blocks: carve them, put freed ones on the deferred list, take them
// off. The run's state stays. "free" in names means free blocks.
#pragma once

#include "slab/free_list.h"
#include "slab/geometry.h"
#include "slab/word.h"

namespace acre::slab {

// Blocks of an owned run that are with the program, on a private list, in an outbox or on the remote list.
inline uint32_t used(const Slab* slab) { return static_cast<uint32_t>(slab->countdown + slab->floor); }
// Blocks on the deferred list of an owned run.
inline uint32_t deferred_count(const Slab* slab) { return slab->carved - used(slab); }

// Sets the number of used blocks at which the owner's free takes the slow path.
inline void count_down(Slab* slab, uint32_t used_blocks, int32_t floor) {
  slab->floor = static_cast<int16_t>(floor);
  slab->countdown = static_cast<int32_t>(used_blocks) - floor;
}
// A floor that is never reached, for a current run.
inline constexpr int32_t kNever = -1;

// The owner frees a block.
ACRE_ALWAYS_INLINE void defer(Slab* slab, void* block) {
  write_link(block, slab->deferred);
  release_store(slab->deferred, link_of(block));  // pairs with find_hostage() and unshare(), which follow the links
  release_decrement(slab->countdown);                 // the last store: pairs with is_all_free() and find_hostage()
}

// From now on no number of used blocks is reached.
inline void stop_counting_down(Slab* slab) { count_down(slab, used(slab), kNever); }

// Takes the deferred blocks as a list. They count as used from now on.
inline Link* take_deferred(Slab* slab) {
  Link* head = slab->deferred;
  slab->deferred = nullptr;
  count_down(slab, slab->carved, slab->floor);
  return head;
}

// Carves `count` more blocks into a list that ends in `tail`. They count as used from now on.
Link* carve(Slab* slab, uint32_t count, Link* tail);

// The same without the counting.
Link* cut(Slab* slab, uint32_t count, Link* tail);

// Takes the remote list of an owned run. Its blocks were counted as used all along. Adds their number to *sum.
Link* collect_remote(Slab* slab, uint64_t* sum);

// Puts a list of blocks that was taken back onto the deferred list. Returns their number, at least 1.
uint32_t return_list(Slab* slab, Link* head);

inline void set_list(Slab* slab, OwnersList list) { slab->list = list; }

}  // namespace acre::slab
