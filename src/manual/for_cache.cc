// What malloc, free and realloc call in this folder on their slow paths (cache/upcalls.h).
#include "cache/malloc.h"
#include "cache/upcalls.h"
#include "manual/binding.h"
#include "manual/manual_arena.h"
#include "manual/tags.h"

namespace acre::manual {

ACRE_COLD bool allocate_small(SizeClass c, size_t asked, void** block) {
  if (Tag* tag = tags::in_force()) {
    *block = tags::allocate(*tag, c, asked);
  } else if (ManualArena* arena = binding::of_caller()) {
    *block = arenas::allocate_small_in(*arena, c, asked, nullptr);
  } else {
    return false;
  }
  return true;
}

ACRE_COLD bool allocate_large(size_t n, size_t alignment, bool zeroed, void** block) {
  if (Tag* tag = tags::in_force()) {
    *block = tags::allocate(*tag, n, alignment, zeroed);
  } else if (ManualArena* arena = binding::of_caller()) {
    *block = arenas::allocate_in(*arena, n, alignment, zeroed);
  } else {
    return false;
  }
  return true;
}

void* allocate_beside(const Found& found, const void* p, size_t n) {
  if (Tag* tag = tags::of(found, p)) return tags::allocate(*tag, n, 1, false);
  ManualArena* home = manual_arena_of(found);
  return ACRE_LIKELY(home == nullptr) ? allocate(n) : arenas::allocate_in(*home, n, 1, false);
}

ACRE_COLD void for_each_heap_of(const Slab* slab, void (*visit)(Heap& heap, void* argument), void* argument) {
  ManualArena* arena = manual_arena_of(arena_of(slab));
  Lock lock(arena->arena.heaps_lock);
  for (Heap* heap = arena->heaps; heap != nullptr; heap = heap->next) visit(*heap, argument);
}

}  // namespace acre::manual
