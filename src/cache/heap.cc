#include "cache/heap.h"

#include <string.h>

#include <new>

#include "pages/metadata.h"

namespace acre {

constinit const HotHeap kUninitializedHeap;
// Not read at start-up (cmake/seldom.ld).
__attribute__((section(".rodata.terminated_heap"))) constinit const HotHeap kTerminatedHeap;
constinit __thread HotHeap* t_heap = const_cast<HotHeap*>(&kUninitializedHeap);

void HotHeap::enter_in_table(SizeClass c) {
  if (!is_plain) return;
  const size_t from = c == 0 ? 0 : size_of_class(c - 1) + 1;
  memset(slot_at + from, static_cast<int>((c + 1) * kStepsPerSlot), size_of_class(c) + 1 - from);
}

Heap* Heap::make() {
  void* memory = metadata::allocate(kBytes);
  return memory == nullptr ? nullptr : in(memory);
}

// All that is not written here is zero.
void Heap::begin() {
  new (static_cast<HeapState*>(this)) HeapState;
  none = {};
  for (Slot& slot : slots) slot = {};
  is_heap = is_plain = true;
}

ACRE_COLD void Heap::set_plain(bool plain) {
  if (is_plain == plain) return;
  is_plain = plain;
  if (!plain) {
    memset(slot_at, 0, sizeof slot_at);
    return;
  }
  for (SizeClass c = 0; c < kOwnedClasses; ++c) {
    if (use(c).is_used()) enter_in_table(c);
  }
}

// Zeroes what is not zero, and writes nothing else. slot_at stays: the next thread would fill it with the same values.
void Heap::end() {
  for (ClassUse& use : cold().uses) {
    if (use.is_used()) use = {};
  }
  outbox().forget();
}

}  // namespace acre
