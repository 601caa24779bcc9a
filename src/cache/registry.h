// Birth and death of heaps, and the list of those that live.
#pragma once

#include "base/mutex.h"
#include "cache/heap.h"

namespace acre::registry {

// Gives the calling thread its heap. Null when memory is refused, and t_heap is as it was; or when blocks are filled
// (fill.h) or there are hooks, for which the heap is put aside (hooks.h), and t_heap is &kTerminatedHeap then.
Heap* initialize_thread();

// The calling thread's heap, in use or put aside; null if it has none.
Heap* heap_of_thread();

// The same, made if the thread has not allocated yet.
inline Heap* heap_of_caller() {
  if (t_heap == &kUninitializedHeap) initialize_thread();
  return heap_of_thread();
}

// Puts the calling thread's heap aside, emptied: the thread goes on as one whose heap was ended, until it takes its heap
// back. Nothing changes if it has none, as while blocks are filled.
void put_heap_aside();
void take_heap_back();

// For a thread whose heap was ended: one of the heaps that such threads share, its own until leave_fallback_heap().
// Null when memory is refused. bound_to: not null, for any thread: a heap that takes runs from this arena alone.
Heap* enter_fallback_heap(Arena* bound_to = nullptr);
void leave_fallback_heap(Heap* heap);

// The arena of this index, made if there is none yet. Null: memory was refused, or index >= arenas::most().
Arena* arena_at(unsigned index);

// Binds a heap, emptied by its owner, to another arena.
void move_to_arena(Heap& heap, Arena* arena);

// Visits the live heaps under the registry's lock, and then calls at_last, if given. Their owners go on using them.
void for_each(void (*visit)(Heap& heap, void* argument), void* argument, void (*at_last)(void* argument) = nullptr);

// What happened in a class of a heap so far.
ClassEvents events_of(const Heap& heap, SizeClass c);

unsigned live_heaps();

LockCounts lock_counts();

// Whether some thread has a heap of its own.
bool has_threads();

// Before the first thread has a heap: prepares for the ends of threads. Once in a process.
void make_thread_key();

// For what stands above the heap and looks at it: here, since a fork has to take it before all others.
extern Mutex control_lock ACRE_HIDDEN;

void at_fork(ForkStage stage);

}  // namespace acre::registry
