#include "manual/binding.h"

#include "cache/registry.h"
#include "manual/tags.h"

namespace acre::binding {

namespace {

bool is_alive(const ManualArena* arena, uint64_t life) {
  return arena != nullptr && arena->life.load(std::memory_order_acquire) == life;
}

}  // namespace

ACRE_COLD void bind(Heap& heap, ManualArena* arena) {
  if (arena != nullptr) heap.manual_life = arena->life.load(std::memory_order_acquire);
  relaxed_store(heap.manual, arena);
  heap.set_diverted(arena != nullptr || tags::in_force() != nullptr);
}

ACRE_COLD ManualArena* of(Heap& heap) {
  if (heap.manual == nullptr || is_alive(heap.manual, heap.manual_life)) return heap.manual;
  bind(heap, nullptr);
  return nullptr;
}

ACRE_COLD const ManualArena* seen_of(const Heap& heap) {
  const ManualArena* arena = racy_load(heap.manual);
  return is_alive(arena, racy_load(heap.manual_life)) ? arena : nullptr;
}

ACRE_COLD ManualArena* of_caller() {
  Heap* heap = heap_if_any();
  if (heap == nullptr && t_heap == &kTerminatedHeap) heap = registry::heap_of_thread();
  return heap == nullptr ? nullptr : of(*heap);
}

}  // namespace acre::binding
