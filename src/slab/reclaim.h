// Runs that are reclaimed from an idle owner, which does not take part.
//
// A thread may sleep in the middle of a free (a signal handler that waits), and put the block on the deferred list when
// it wakes. So a run that is reclaimed with live blocks becomes *shared*: only the former owner touches `deferred` and
// `countdown`, and all else goes through the remote word. One block, the *hostage*, stays on the deferred list and
// counts as used in the word. So a shared run is never all free, and its header belongs to no other run when the late
// block arrives.
//
// A thread that finds a shared run in a bin does not own it, but takes blocks of it (Bin::take_blocks), which come back
// through outboxes. The former owner ends the sharing when it is awake again; a reclaimer ends it when only the hostage
// is left. reclaim/idle.h says when a thread may reclaim from another.
#pragma once

#include "base/atomics.h"
#include "slab/slab.h"

namespace acre::slab {

// Whether all blocks of an owned run that is not current are free. For other threads than the owner, which may be
// freeing blocks of the run. True stays true: the owner has then done the last store of its last free.
bool is_all_free(const Slab* slab);

// The hostage, if a run that its owner keeps but is not changing became shared: the head of its deferred list. End of
// list if the free of that block is not counted yet: its last store is still to come.
Link* find_hostage(const Slab* slab);

// Takes such a run from its owner. Returns the number of blocks that left its deferred list.
uint32_t share(Slab* slab, Link* hostage);

// Whether the hostage is the only block that is not free. If so, no late block has come or will come.
bool is_free_but_for_hostage(const Slab* slab);

// Ends the sharing. For the former owner, or for a thread that has seen is_free_but_for_hostage(). The run may be
// another's when this returns. Returns the number of blocks that left its deferred list.
uint32_t unshare(Slab* slab);

}  // namespace acre::slab
