// A thread that is bound to a manual arena (manual_arena.h) allocates everything there, until it is bound to another
// one. Its heap stays with its automatic arena, and is used again afterwards.
//
// The hot path does not know about bindings. As with a tag in force (tags.h), slot_at leads malloc to a list that is
// always empty, so that each allocation takes the slow path, which borrows a heap of the arena. So the thread keeps
// nothing of the arena, which may be reset while threads are bound to it. If it is destroyed, they are bound to none.
#pragma once

#include "manual/manual_arena.h"

namespace acre::binding {

// heap: the calling thread's, in use or put aside. arena: null to end the binding.
void bind(Heap& heap, ManualArena* arena);

// The manual arena that the heap is bound to, or null. of: for the heap's owner. seen_of: for any thread, at some
// moment.
ManualArena* of(Heap& heap);
const ManualArena* seen_of(const Heap& heap);

// The same for the calling thread.
ManualArena* of_caller();

}  // namespace acre::binding
