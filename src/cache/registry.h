// Makes and ends threads' heaps, and lists the live ones.
#pragma once

#include "base/mutex.h"
#include "cache/heap.h"

namespace acre::registry {

// Gives the calling thread its heap. Null, with t_heap unchanged: memory is refused. Null, with t_heap ==
// &kTerminatedHeap: blocks are filled (fill.h). While there are hooks (hooks.h), the heap is observed.
Heap* initialize_thread();

// The calling thread's heap, in use or put aside; null if it has none.
Heap* heap_of_thread();

// The same, but makes a heap if the thread has not allocated yet.
inline Heap* heap_of_caller() {
  if (t_heap == &kUninitializedHeap) initialize_thread();
  return heap_of_thread();
}

// Empties the calling thread's heap and puts it aside: the thread goes on like one whose heap was ended, until it takes
// its heap back. Does nothing if the thread has no heap, as while blocks are filled.
void put_heap_aside();
void take_heap_back();

// For a thread without a heap: takes one of the *fallback heaps* that such threads share, until leave_fallback_heap().
// bound_to: if not null, one that takes runs from this arena alone, for any thread. Null if memory is refused.
Heap* enter_fallback_heap(Arena* bound_to = nullptr);
void leave_fallback_heap(Heap* heap);

// The arena of this index, made if there is none yet. Null: memory was refused, or index >= arenas::most().
Arena* arena_at(unsigned index);

// Moves a heap, emptied by its owner, to another arena.
void move_to_arena(Heap& heap, Arena* arena);

// Calls visit for each live heap under the registry's lock, then at_last, if given. Owners use their heaps meanwhile.
void for_each(void (*visit)(Heap& heap, void* argument), void* argument, void (*at_last)(void* argument) = nullptr);

// The same for those from where the last call stopped on, or from the first, until visit returns false: the next call
// begins with that heap. Returns true if it came to the end.
bool for_each_in_turn(bool (*visit)(Heap& heap, void* argument), void* argument);

ClassEvents events_of(const Heap& heap, SizeClass c);

unsigned live_heaps();

LockCounts lock_counts();

// Whether any thread has a heap of its own.
bool has_threads();

// Prepares for the ends of threads. Once in a process, before the first thread has a heap.
void make_thread_key();

// The lock of the layers above that read heaps (control, leaks). It is here because a fork takes it before all others.
extern Mutex control_lock ACRE_HIDDEN;

void at_fork(ForkStage stage);

}  // namespace acre::registry
