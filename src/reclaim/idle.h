// What idle threads keep, taken back by others.
//
// A thread that sleeps cannot give up its runs, and others may free all that lives in them. So every quarter of
// a second some thread, on a tick, or the background thread looks at all heaps; and while the process grows by slab runs,
// those who make them, up to five thousand times a second. A heap in which nothing has happened since the last look is
// *announced* a visit; if nothing has happened by the next look either, the reclaimer sends off its outbox and takes its
// adopted and available runs: those whose blocks are all free go back to the page heap, the others become shared
// (slab/reclaim.h), so that anyone can have what is free in them. An owner that finds an announcement when it
// comes to its slow path withdraws it: it is not idle.
//
// The owner pays no atomic operation for this, only two stores and a load at the slow path. That is enough,
// since its store "I am inside" is older than the visit by the wait between two looks, or younger than the announcement:
//   owner:    inside = 1; reads visit           reclaimer: visit = announced; … 200 microseconds at least …;
//                                                        visit = at work, by compare-and-swap; reads inside
// A store is seen by others within microseconds, so either the reclaimer sees `inside` and leaves, or the owner sees
// that it was announced. In the fast path of free an owner may be unaware of a visit: but it then holds a block
// of the run, which is counted as used until its last store (slab::defer), so the run is not all free, and shared runs
// bear it.
// tests/model/idle_reclaim.pml holds the protocol for SPIN.
#pragma once

#include "cache/heap.h"

namespace acre::idle {

inline constexpr uint64_t kIntervalMs = 250;  // between two looks on ticks

enum class Look : uint8_t {
  kTooEarly,  // somebody has just looked: nothing was done
  kBusy,      // some heap has changed since the last look
  kQuiet,     // none has
};

// Called with no lock held, on ticks and by the background thread: looks at all heaps but the caller's own, if it is
// time. mine: null for a thread without a heap.
Look look_around(const Heap* mine, uint64_t now_ms);

void after_fork_in_child();

}  // namespace acre::idle
