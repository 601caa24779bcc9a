// Reclaim from idle threads' caches by other threads.
//
// A thread that sleeps cannot give up its runs, and others may free all that lives in them. So every quarter of a
// second some thread, on a tick, or the background thread looks at all heaps, in steps: each step, under the registry's
// lock, looks at some heaps and some of their runs at most, and another tick takes the next step. While the process grows by slab runs, the
// threads that make the runs look, up to five thousand times a second. For a heap without an event since the last look,
// a reclaim is *announced*. If there is none by the next look either, the reclaimer sends the heap's outbox and takes
// its adopted and available runs: those whose blocks are all free go back to the page heap, the others become shared
// (slab/reclaim.h), so that any thread can have their free blocks. An owner that finds an announcement on its slow path
// withdraws it: the owner is not idle.
//
// The owner pays two stores and a load on the slow path for this, no atomic read-modify-write. That is enough, since
// its store to `inside` comes either before the reclaim, by the wait between two looks, or after the announcement:
//   owner:    inside = 1; reads reclaim         reclaimer: reclaim = announced; … 200 microseconds at least …;
//                                                        reclaim = under way, by compare-and-swap; reads inside
// Other threads see a store within microseconds, so either the reclaimer sees `inside` and leaves, or the owner sees
// the announcement. On the hot path of free, an owner may not notice a reclaim. But it then holds a block of the run,
// which counts as used until its last store (slab::defer). So the run is not all free, and shared runs allow for a late
// block. A reclaim that is not done in one step stays announced in between, so the owner's lists are as the step left
// them if the announcement is still there. tests/model/idle_reclaim.pml holds the protocol for SPIN.
#pragma once

#include "cache/heap.h"

namespace acre::idle {

inline constexpr uint64_t kIntervalMs = 250;  // between two looks on ticks

enum class Look : uint8_t {
  kTooEarly,  // no look was due: nothing was done
  kNotDone,   // the next call goes on, at once if it likes
  kBusy,      // some heap has changed since the last look
  kQuiet,     // none has
};

// Called with no lock held, on ticks and by the background thread: takes a step of a look at all heaps but the caller's
// own, if a look is due. mine: null for a thread without a heap.
Look look_around(const Heap* mine, uint64_t now_ms);

void after_fork_in_child();

}  // namespace acre::idle
