#include "heap/binding.h"

#include "heap/registry.h"
#include "heap/tags.h"

namespace acre::binding {

namespace {

bool is_alive(const ExplicitArena* arena, uint64_t life) {
  return arena != nullptr && arena->life.load(std::memory_order_acquire) == life;
}

}  // namespace

ACRE_COLD void bind(Heap& heap, ExplicitArena* arena) {
  if (arena != nullptr) heap.manual_life = arena->life.load(std::memory_order_acquire);
  relaxed_store(heap.manual, arena);
  heap.set_plain(arena == nullptr && tags::in_force() == nullptr);
}

ACRE_COLD ExplicitArena* of(Heap& heap) {
  if (heap.manual == nullptr || is_alive(heap.manual, heap.manual_life)) return heap.manual;
  bind(heap, nullptr);
  return nullptr;
}

ACRE_COLD const ExplicitArena* seen_of(const Heap& heap) {
  const ExplicitArena* arena = racy_load(heap.manual);
  return is_alive(arena, racy_load(heap.manual_life)) ? arena : nullptr;
}

ACRE_COLD ExplicitArena* of_caller() {
  Heap* heap = heap_if_any();
  if (heap == nullptr && t_heap == &kGoneHeap) heap = registry::heap_of_thread();
  return heap == nullptr ? nullptr : of(*heap);
}

}  // namespace acre::binding
