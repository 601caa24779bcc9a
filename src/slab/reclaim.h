// Runs that are reclaimed from an idle owner, who does not know.
//
// A thread that sleeps may sleep in the midst of a free (a signal handler that waits), and then pushes the block on
// the deferred list whenever it wakes. So a run that is reclaimed with blocks alive becomes *shared*: nobody but the former
// owner touches `deferred` and `countdown`, and all else goes through the remote word. One block, the hostage, stays on the
// deferred list and is used as far as the word knows. So a shared run is never all free, and its header is no other
// run's when the late block arrives.
//
// A thread that finds a shared run in a bin does not own it, but takes blocks of it (Bin::take_blocks), which come back by
// outboxes. The former owner ends the sharing when it is awake again; who reclaims, when the hostage is all that is left.
// reclaim/idle.h says when a thread may reclaim from another.
#pragma once

#include "base/atomics.h"
#include "slab/slab.h"

namespace acre::slab {

// Are all blocks of an owned run free that is not current? For others than the owner, who may be freeing in the run:
// true stays true, and then the owner has done the last store of its last free.
bool is_all_free(const Slab* slab);

// The block that would stay behind if a run, which its owner keeps but is not busy with, became shared: the
// head of its deferred list. None (end of list) if the free of that block is not yet counted, its last store to come.
LowAddress find_hostage(const Slab* slab);

// Takes such a run from its owner. Returns how many blocks left its deferred list.
uint32_t share(Slab* slab, LowAddress hostage);

// Is the hostage the only block that is not free? Then no late block is there or on its way.
bool is_free_but_for_hostage(const Slab* slab);

// Ends the sharing. For the former owner, or for anyone who has seen is_free_but_for_hostage. The run may be gone when
// this returns. Returns how many blocks left its deferred list.
uint32_t unshare(Slab* slab);

}  // namespace acre::slab
