#include "cache/placement.h"

#include "cache/registry.h"
#include "cache/upcalls.h"
#include "slab/guard_pages.h"

namespace acre::placement {

namespace {

constinit Arena* g_spare_arena ACRE_GUARDED_BY(g_lock) = nullptr;

// Of each automatic arena, side by side, since each new thread reads them all.
struct Place {
  uint16_t threads = 0;    // Arena::threads, at most
  uint16_t processor = 0;  // on which one of its threads began or ended last
};
constinit Place g_places[kMostArenas] ACRE_GUARDED_BY(g_lock);

constinit unsigned g_spare_count ACRE_GUARDED_BY(g_lock) = 0;  // in all arenas

// A heap of this arena if there is one, else any; null if there is none.
Heap* take_spare(const Arena& arena) ACRE_REQUIRES(g_lock) {
  if (g_spare_count == 0) return nullptr;
  unsigned at = arena.index;
  while (arenas::at(at)->spare_heaps == nullptr) at = (at + 1) % arenas::count();
  Heap*& spares = arenas::at(at)->spare_heaps;
  Heap* const heap = spares;
  spares = heap->next;
  --g_spare_count;
  return heap;
}

// The arena with the fewest threads. One that was used on this processor last may have a few more, once each arena has
// threads and there may be no more arenas (is_full). Null: a new one is wanted, for which memory has to be had first.
Arena* least_loaded(bool is_full, unsigned processor) ACRE_REQUIRES(g_lock) {
  const unsigned count = arenas::count();
  unsigned least = 0, near = count;
  for (unsigned i = 0; i < count; ++i) {
    if (hardened::is_on() && arenas::at(i)->is_of_class) continue;  // never the first
    if (g_places[i].threads < g_places[least].threads) least = i;
    if (g_places[i].processor != processor) continue;
    if (near == count || g_places[i].threads < g_places[near].threads) near = i;
  }
  const unsigned few = g_places[least].threads;
  if (near != count && g_places[near].threads <= few + (is_full ? (few + 3) / 4 : 0)) least = near;
  if (count != 0 && (few == 0 || is_full)) return arenas::at(least);
  if (g_spare_arena != nullptr) {
    Arena* made = g_spare_arena;
    g_spare_arena = nullptr;
    arenas::install(made);
    return made;
  }
  return nullptr;
}

}  // namespace

void count_thread(Arena& arena, int more, unsigned processor) {
  arenas::count_threads(arena, more);
  if (arena.is_manual) return;
  g_places[arena.index] = {static_cast<uint16_t>(smaller<unsigned>(arena.threads, UINT16_MAX)),
                           static_cast<uint16_t>(processor)};
}

// Those of manual arenas, which are few, are the first arena's.
void put_spare(Heap* heap, const Arena& arena) {
  Heap*& spares = arenas::at(arena.is_manual ? 0 : arena.index)->spare_heaps;
  heap->next = spares;
  spares = heap;
  ++g_spare_count;
}

Arena* join_arena(unsigned processor, Heap** spare) {
  for (;;) {
    const unsigned count = arenas::count();
    const bool is_full = count != 0 && arenas::is_full();  // may ask the system, so the lock is not held
    {
      Lock lock(g_lock);
      if (arenas::count() != count) continue;  // another thread has added an arena
      if (Arena* arena = least_loaded(is_full, processor)) {
        count_thread(*arena, 1, processor);
        *spare = take_spare(*arena);
        return arena;
      }
    }
    Arena* made = arenas::make();
    Lock lock(g_lock);
    if (made == nullptr) {  // any arena will do
      if (arenas::count() == 0) return nullptr;
      count_thread(*arenas::at(0), 1, processor);
      return arenas::at(0);
    }
    g_spare_arena = made;  // an arena that another thread has put there is lost: some KiB
  }
}

ACRE_COLD static Arena* arena_for(unsigned use) {
  if (Arena* arena = arenas::of_use(use)) return arena;
  Arena* made = arenas::make();
  if (made == nullptr) return arenas::of_use(use);
  // Without the lock: growth is told to the heap profiler, whose unwinder may allocate. Large blocks have their own guards.
  if (use != arenas::kOfPointers + kSmallClasses) guard_pages::begin_arena(made->pages);
  Lock lock(g_lock);
  if (Arena* arena = arenas::of_use(use)) {  // another thread was first
    g_spare_arena = made;
    return arena;
  }
  arenas::install_for(use, made);
  return made;
}

ACRE_COLD Arena* home_of_pointers(SizeClass c) { return arena_for(arenas::kOfPointers + c); }

ACRE_COLD Arena& home_in_hardened(const Heap& heap, SizeClass c) {
  if (heap.bound) return *heap.arena;
  Arena* own = arena_for(c);
  return own != nullptr ? *own : *heap.arena;
}

}  // namespace acre::placement

namespace acre::registry {

ACRE_COLD Arena* arena_at(unsigned index) {
  start_process();
  if (index >= arenas::most()) return nullptr;
  while (index >= arenas::count()) {
    Arena* made = arenas::make();
    if (made == nullptr) return nullptr;
    Lock lock(g_lock);
    if (index >= arenas::count()) {
      arenas::install(made);
    } else {
      placement::g_spare_arena = made;  // another thread has made the last one that is needed
    }
  }
  return arenas::at(index);
}

}  // namespace acre::registry
