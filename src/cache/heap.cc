#include "cache/heap.h"

#include <string.h>

#include <new>

#include "cache/owner_at_work.h"
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
  hardened::Quarantine* const kept = quarantine;
  new (static_cast<HeapState*>(this)) HeapState;
  quarantine = kept;
  none = {};
  lives.begin();
  for (Slot& slot : slots) slot = {};
  kind = HeapKind::kUsual;
  is_plain = true;
}

static void update_table(Heap& heap) {
  const bool plain = !heap.is_diverted && heap.kind == HeapKind::kUsual;
  if (heap.is_plain == plain) return;
  heap.is_plain = plain;
  if (!plain) {
    memset(heap.slot_at, 0, sizeof heap.slot_at);
    return;
  }
  for (SizeClass c = 0; c < kOwnedClasses; ++c) {
    if (heap.use(c).is_used()) heap.enter_in_table(c);
  }
}

ACRE_COLD void Heap::set_diverted(bool diverted) {
  is_diverted = diverted;
  update_table(*this);
}

ACRE_COLD void Heap::set_observed(bool observed) {
  empty_heap(*this);
  const OwnerAtWork busy(*this);  // reclaimers read the token
  kind = observed ? HeapKind::kObserved : HeapKind::kUsual;
  token = thread_of(token) | (observed ? kObservedBit : 0);
  update_table(*this);
}

// Zeroes what is not zero, and writes nothing else. slot_at stays: the next thread would fill it with the same values.
void Heap::end() {
  for (ClassUse& use : cold().uses) {
    if (use.is_used()) use = {};
  }
  outbox().forget();
}

}  // namespace acre
