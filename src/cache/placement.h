// Which arena and which spare heap a new thread gets: if it can be, those that a thread on its processor has left, whose
// cache lines are there. Part of the registry.
#pragma once

#include "base/mutex.h"
#include "cache/upcalls.h"

namespace acre::registry {

// Guards the lists of heaps, the number of threads of each arena, and what is here.
extern Mutex g_lock ACRE_HIDDEN;

}  // namespace acre::registry

namespace acre::placement {

using registry::g_lock;

// The arena with the fewest threads, with one more now. *spare: a heap of an ended thread, or null. Null: memory was
// refused.
Arena* join_arena(unsigned processor, Heap** spare) ACRE_EXCLUDES(g_lock);

// Adds to the number of threads that are bound to the arena. processor: where such a thread runs.
void count_thread(Arena& arena, int more, unsigned processor) ACRE_REQUIRES(g_lock);

// A heap that an ended thread of this arena has left.
void put_spare(Heap* heap, const Arena& arena) ACRE_REQUIRES(g_lock);

// The arena from which the heap takes runs of this class: its own, but for the hardened mode (Arena::is_of_class).
Arena& home_in_hardened(const Heap& heap, SizeClass c);
ACRE_ALWAYS_INLINE Arena& home_of(const Heap& heap, SizeClass c) {
  return hardened::is_on() ? home_in_hardened(heap, c) : *heap.arena;
}

// In the hardened mode: the arena for blocks of this class, or large ones, of types with pointers. Null: refused.
Arena* home_of_pointers(SizeClass c);

}  // namespace acre::placement
