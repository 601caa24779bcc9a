// Runs that are taken from an owner who does not know.
//
// A thread that sleeps may sleep in the midst of a free (a signal handler that waits), and then pushes the block on
// the deferred list whenever it wakes. So a run that is taken from it becomes *shared*: nobody but the former owner
// touches `deferred` and `countdown`, and all else goes through the remote word. One block, the hostage, stays on
// the deferred list and is used as far as the word knows: a shared run is never all free, and its header is no other
// run's when the late block arrives.
//
// Threads that take a shared run from its bin do not own it. They harvest its blocks for their private list, and
// those come back by outboxes. The former owner ends the sharing when it is awake again; a visitor, when the hostage
// is all that is left. tests/model/shared_run.pml holds this for SPIN.
#pragma once

#include "base/atomics.h"
#include "slab/slab.h"

namespace acre::slab {

inline bool is_shared(const Slab* slab) { return acquire_load(slab->shelf) == Shelf::kShared; }

// The block that would stay behind if a run, which its owner has on a shelf but is not busy with, became shared: the
// head of its deferred list. None (end of list) if the free of that block is not yet counted, its last store to come.
LowAddress find_hostage(const Slab* slab);

// Takes such a run from its owner and gives it up. Returns how many blocks left its deferred list.
uint32_t share(Slab* slab, LowAddress hostage);

// Is the hostage the only block that is not free? Then no late block is there or on its way.
bool is_free_but_for_hostage(const Slab* slab);

// Ends the sharing. For the former owner, or for anyone who has seen is_free_but_for_hostage. The run may be gone when
// this returns. Returns how many blocks left its deferred list.
uint32_t unshare(Slab* slab);

// For a thread that has just taken a shared run from its bin: the blocks on its remote list and up to `fresh` that
// were never used. Their number is added to *sum. The run is given up again.
LowAddress harvest(Slab* slab, uint32_t fresh, uint64_t* sum);

}  // namespace acre::slab
