#include "cache/private_list.h"

namespace acre::private_list {

ACRE_NOINLINE void count(Heap& heap, SizeClass c) {
  auto& [lists, blocks] = heap.use(c);
  const Slot& slot = heap.slots[c];
  const Passed since = passed(lists, slot.room, slot.left);
  if ((since.taken | since.freed) == 0) return;
  lists.room = slot.room;
  lists.left = slot.left;
  lists.busy = true;
  blocks.recycled += since.freed;
  if (ACRE_UNLIKELY(sampler::is_on())) sampler::passed(heap, c, since.taken);
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
  auto& [lists, blocks] = heap.use(c);
  Slot& slot = heap.slots[c];
  const Passed since = passed(lists, slot.room, slot.left);
  blocks.recycled += since.freed;
  if (ACRE_UNLIKELY(sampler::is_on())) sampler::passed(heap, c, since.taken);
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
