#include "cache/current.h"


namespace acre::current {

void open_again(Heap& heap, SizeClass c, uint32_t may_pass) {
  Slab* slab = heap.use(c).lists.current;
  if (slab == nullptr || !is_end(slab->deferred)) return;
  may_pass != 0 ? slab::open(slab, &heap.slots[c].head, smaller(kFreesUnseen, may_pass)) : slab::close(slab);
}

void settle_some(Heap& heap, SizeClass c) {
  RunLists& lists = heap.use(c).lists;
  const uint32_t blocks = slab::settle(lists.current);
  heap.use(c).blocks.recycled += blocks;
  lists.busy = true;
  if (ACRE_UNLIKELY(sampler::is_on())) sampler::passed(heap, c, blocks);
}

void close(Heap& heap, SizeClass c) {
  settle(heap, c);
  if (Slab* slab = heap.use(c).lists.current) slab::close(slab);
}

void on_countdown(Heap& heap, SizeClass c) {
  close(heap, c);
  open_again(heap, c, sampler::is_on() ? sampler::may_pass(heap, c) : UINT32_MAX);
  hooks::tick_after_free(heap);
}

}  // namespace acre::current
