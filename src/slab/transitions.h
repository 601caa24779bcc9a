// The changes of a run's state that need no bin's lock (slab.h has the table). Bin::take and Bin::take_blocks are in bin.h,
// share and unshare in reclaim.h.
#pragma once

#include "slab/arena.h"
#include "slab/holder.h"

namespace acre::slab {

// Turns fresh pages into a slab run of this class, owned by `owner`. Null when memory for its header is
// refused: the pages are then the caller's still.
Slab* make(Run* run, SizeClass c, ThreadToken owner);

// The owner gives the run up. It may be open if it is settled.
void release(Slab* slab);

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

// Returns the pages of a run whose blocks are all free. For the owner, and whoever else can alone reach the run.
void free_pages(Slab* slab);

// In the child of a fork: the owner, a thread of the parent's, does not exist here. The run stays owned, so that nobody
// relies on what its owner may have been changing; blocks of it that are freed wait on its remote list for ever.
void disown(Slab* slab);

// Returns the pages of a slab run of an arena that is reset, whatever its blocks are and wherever it lies: no thread
// may have to do with it, and the bins are empty.
void discard(Run* run);

// For transitions of this folder: as give_back(); `unshares`: and ends the sharing.
enum class GiveBack : bool { kBlocks, kAndUnshare };
void give_back_and_move(Slab* slab, LowAddress head, Link* last, uint32_t count, GiveBack what);

// For Bin and adopt(): the run is the caller's, whose change of the word from `word` made it so.
void begin_ownership(Slab* slab, const RemoteWord& word, ThreadToken owner);

}  // namespace acre::slab
