// A thread that is bound to a manual arena (manual_arena.h): all that it allocates comes from there, until it is bound to
// another one. Its heap stays with the automatic arena that it has, and is used again afterwards.
//
// The hot path knows nothing of it. As while a tag is in force (tags.h), the thread's slot_at leads malloc to a list that is
// always empty, so that each allocation comes to the slow path, and borrows a heap of the arena there. So the thread keeps
// nothing of the arena, which may be reset while threads are bound to it. A thread whose arena was destroyed is bound to
// none.
#pragma once

#include "manual/manual_arena.h"

namespace acre::binding {

// The calling thread's heap, in use or put aside; null: to no manual arena.
void bind(Heap& heap, ManualArena* arena);

// The manual arena that the heap is bound to, or null. of: for its owner. seen_of: for another thread, of some moment.
ManualArena* of(Heap& heap);
const ManualArena* seen_of(const Heap& heap);

// The same for the calling thread.
ManualArena* of_caller();

}  // namespace acre::binding
