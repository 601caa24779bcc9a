// How slab runs are made, cut, handed from holder to holder and given back.
//
//   make ──> owned ──release──> full ──give_back──> binned ──Bin::take──> owned …
//             ^  └──────────────release────────────────^
//             └────────adopt────── full
//
// A visitor to an idle owner takes runs by slab::share() (sharing.h).
//
// Whoever finds all blocks free while nobody else can reach the run returns its pages. "free" in names below
// means free blocks, "local" those that only the holder can reach.
#pragma once

#include "slab/arena.h"
#include "slab/free_list.h"
#include "slab/geometry.h"
#include "slab/remote.h"

namespace acre::slab {

// --- For the holder ---------------------------------------------------------------------------------------

// Turns fresh pages into a slab run of this class, owned by `owner`. Null when memory for its header is
// refused: the pages are then the caller's still.
Slab* make(Run* run, SizeClass c, ThreadToken owner);

// Blocks that are with the program, in a private list or in the remote list.
inline uint32_t used(const Slab* slab) { return static_cast<uint32_t>(slab->countdown + slab->floor); }
// Of an open run it is the number of blocks that the next settle() counts.
inline uint32_t deferred_count(const Slab* slab) { return slab->carved - used(slab); }

// Are all blocks of an owned run free that is not current? For others than the owner, who may be freeing in it:
// true stays true, and then the owner has done the last store of its last free.
bool is_all_free(const Slab* slab);

// Sets at how many used blocks the owner's free takes the slow door.
inline void watch(Slab* slab, uint32_t used_blocks, int32_t floor) {
  slab->floor = floor;
  slab->countdown = static_cast<int32_t>(used_blocks) - floor;
}
// A floor that is never reached: that of a current run which is not open.
inline constexpr int32_t kNever = -1;

// Puts a block that the owner frees on the deferred list, or, of an open run, on the owner's.
ACRE_ALWAYS_INLINE void defer(Slab* slab, void* block) {
  LowAddress* list = slab->free_list;
  write_link(slab, block, *list);
  release_store(*list, low_address(block));
  release_decrement(slab->countdown);  // the last store: is_all_free()
}

// Opens a run whose deferred list is empty: what the owner frees goes onto this list, `frees` blocks until it takes the
// slow door. All its blocks stay used, but for those that were freed so and are not settled.
inline void open(Slab* slab, LowAddress* list, uint32_t frees) {
  slab->free_list = list;
  watch(slab, slab->carved, static_cast<int32_t>(slab->carved - frees));
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
  watch(slab, used(slab), kNever);
}

// The deferred blocks as a list; they count as used from now on.
inline LowAddress take_deferred(Slab* slab) {
  LowAddress head = slab->deferred;
  slab->deferred = kEndOfList;
  watch(slab, slab->carved, slab->floor);
  return head;
}

// Cuts `count` more blocks into a list that ends in `tail`; they count as used from now on.
LowAddress carve(Slab* slab, uint32_t count, LowAddress tail);

// The same, but for the counting.
LowAddress cut(Slab* slab, uint32_t count, LowAddress tail);

// The remote list; its blocks were counted as used all along. Their number is added to *sum.
LowAddress collect_remote(Slab* slab, uint64_t* sum);

// Up to `count` free blocks of a run that has some: such as were freed, if there are any, or else such as were never
// used. They count as used from now on, and their number is added to *sum.
LowAddress take_some(Slab* slab, uint32_t count, uint64_t* sum);

// Puts a list that was taken, and has blocks, back: deferred again. Returns their number.
uint32_t return_list(Slab* slab, LowAddress head);

// Gives the run up: to its bin, to wait until enough of it is free, or, if all of it is, to the page heap. It may be open
// if it is settled.
void release(Slab* slab);

// The last part of that: nobody's from now on. local: free blocks that only the next holder can reach.
void give_up(Slab* slab, uint32_t local);

// Returns the pages of a run whose blocks are all free. Exclusive holder only.
void free_pages(Slab* slab);

// Returns the pages of a slab run of an arena that is reset, whatever its blocks are and wherever it lies: no thread
// may have to do with it, and the bins are empty.
void discard(Run* run);

// --- For everyone -----------------------------------------------------------------------------------------

// Makes the calling thread, which was the last owner, the owner again, if the run is full. The caller has a
// block of the run in hand.
bool adopt(Slab* slab, ThreadToken me);

// Hands over `count` blocks linked from `head` to `last`, freed by a thread that does not own the run. The
// run may be gone when this returns.
void give_back(Slab* slab, LowAddress head, Link* last, uint32_t count);

// The same for one block.
inline void give_back(Slab* slab, void* block) {
  write_link(slab, block, kEndOfList);
  give_back(slab, low_address(block), link_of(block), 1);
}

}  // namespace acre::slab
