// Birth and death of heaps, and the list of those that live.
#pragma once

#include "heap/heap.h"

namespace acre::registry {

// Gives the calling thread its heap. Null when memory is refused, and t_heap is as it was; or when blocks are filled
// (fill.h), and t_heap is &kGoneHeap then.
Heap* birth();

// For a thread whose heap is gone: one of the heaps that such threads share, its own until leave_late_heap().
// Null when memory is refused.
Heap* enter_late_heap();
void leave_late_heap(Heap* heap);

// Visits the live heaps under the registry's lock, and then calls at_last, if given. Their owners go on using them.
void for_each(void (*visit)(Heap& heap, void* argument), void* argument, void (*at_last)(void* argument) = nullptr);

// What happened in a class of a heap so far.
ClassEvents events_of(const Heap& heap, SizeClass c);

// Returns when no visit is going on that was when it was called.
void wait_for_visits();

unsigned live_heaps();

LockCounts lock_counts();

// Whether some thread has a heap of its own.
bool has_threads();

// Start-up that does not depend on the first allocation: called by the library's constructor.
void start();

// For what stands above the heap and looks at it: here, since a fork has to take it before all others.
extern Mutex control_lock ACRE_HIDDEN;

void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

}  // namespace acre::registry
