#include "cache/private_list.h"

namespace acre::private_list {

// Counts what has passed, and leaves it to the caller to note what the next count is against.
ACRE_ALWAYS_INLINE static void add_passed(Heap& heap, SizeClass c) {
  auto& [lists, blocks] = heap.use(c);
  const Slot& slot = heap.slots[c];
  const auto taken = static_cast<uint32_t>(lists.left - slot.left);
  blocks.recycled += taken + static_cast<uint32_t>(lists.room - slot.room);  // what free() put there
  if (ACRE_UNLIKELY(sampler::is_on())) sampler::passed(heap, c, taken);
}

// Writes nothing if nothing has passed: an unused class takes no memory.
ACRE_NOINLINE void count(Heap& heap, SizeClass c) {
  RunLists& lists = heap.use(c).lists;
  const Slot& slot = heap.slots[c];
  if (lists.room == slot.room && lists.left == slot.left) return;
  add_passed(heap, c);
  lists.room = slot.room;
  lists.left = slot.left;
  lists.busy = true;
}

void count_and_let(Heap& heap, SizeClass c, int32_t left) {
  count(heap, c);
  heap.use(c).lists.left = heap.slots[c].left = left;
}

ACRE_APART void set_bound(Heap& heap, SizeClass c, uint32_t bound) {
  count(heap, c);
  RunLists& lists = heap.use(c).lists;
  heap.slots[c].room += static_cast<int32_t>(bound) - lists.bound;
  lists.room = heap.slots[c].room;
  lists.bound = static_cast<uint16_t>(bound);
}

void filled(Heap& heap, SizeClass c, uint32_t number) {
  add_passed(heap, c);
  RunLists& lists = heap.use(c).lists;
  Slot& slot = heap.slots[c];
  const bool is_told = heap.kind != HeapKind::kUsual && !hardened::is_on();  // else src/hardened tells of frees itself
  lists.bound = is_told ? 0 : run_shape(c).most_listed;
  slot.room = lists.room = lists.bound - static_cast<int32_t>(number);
  slot.left = lists.left = kMostLeft;
}

Link* take_all(Heap& heap, SizeClass c) {
  count(heap, c);
  RunLists& lists = heap.use(c).lists;
  Slot& slot = heap.slots[c];
  Link* head = slot.head;
  slot.head = nullptr;
  slot.room = lists.room = 0;
  lists.bound = 0;
  return head;
}

}  // namespace acre::private_list
