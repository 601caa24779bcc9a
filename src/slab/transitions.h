// The changes of a run's state that need no bin's lock (slab.h has the table). Bin::take and Bin::take_blocks are in
// bin.h, share and unshare in reclaim.h.
#pragma once

#include "slab/arena.h"
#include "slab/holder.h"

namespace acre::slab {

// Turns pages into a slab run, owned by `owner`. Null if memory for its header is refused: the pages stay the caller's.
Slab* make(Run* run, SizeClass c, Owner owner);

// The owner gives the run up.
void release(Slab* slab);

// Makes the calling thread, which owned the run last and is freeing a block of it, its owner again. Returns false if
// the run is not full, or if another thread owned it last.
bool adopt(Slab* slab, Owner me);

// The same for a run whose last owner's life has ended, and also for a run in its bin, unless most of it is free: that
// one is left to threads that allocate.
bool inherit(Slab* slab, Owner me);

// Hands over `count` blocks, linked from `head` to `last`, that a thread freed in a run that it does not own. The run
// may be gone when this returns.
void give_back(Slab* slab, Link* head, Link* last, uint32_t count);

// The same for one block.
inline void give_back(Slab* slab, void* block) {
  write_link(block, nullptr);
  give_back(slab, link_of(block), link_of(block), 1);
}

// Returns the pages of a run whose blocks are all free. For the owner, or a thread that alone can reach the run.
void free_pages(Slab* slab);

// For the child of a fork, where the owner, a thread of the parent, does not exist. The run stays owned, so that no
// thread relies on what its owner may have been changing. Blocks of it that are freed wait on its remote list for ever.
void disown(Slab* slab);

// Returns the pages of a slab run of an arena that is reset, whatever its blocks are and wherever the run is. No thread
// may use the run, and the bins are empty.
void discard(Run* run);

// For this folder: as give_back(). kAndUnshare: also ends the sharing.
enum class GiveBack : bool { kBlocks, kAndUnshare };
void give_back_and_move(Slab* slab, Link* head, Link* last, uint32_t count, GiveBack what);

// For Bin and adopt(), after a change of the word from `word` that made the run the caller's.
void begin_ownership(Slab* slab, const RemoteWord& word, Owner owner);

}  // namespace acre::slab
