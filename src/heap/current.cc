#include "heap/current.h"

#include "heap/hooks.h"

namespace acre::current {

ACRE_COLD void open_watched(Heap& heap, SizeClass c, Slab* slab) {
  const uint32_t frees = smaller(kFreesUnseen, watch::may_pass(heap, c));
  frees != 0 ? slab::open(slab, &heap.slots[c].head, frees) : slab::close(slab);
}

void open_again(Heap& heap, SizeClass c) {
  Slab* slab = heap.shelves[c].current;
  if (slab != nullptr && is_end(slab->deferred)) open(heap, c, slab);
}

void settle_some(Heap& heap, SizeClass c) {
  Shelves& shelves = heap.shelves[c];
  const uint32_t blocks = slab::settle(shelves.current);
  heap.blocks.recycled[c] += blocks;
  shelves.busy = true;
  if (ACRE_UNLIKELY(watch::is_on())) watch::passed(heap, c, blocks);
}

void close(Heap& heap, SizeClass c) {
  settle(heap, c);
  if (Slab* slab = heap.shelves[c].current) slab::close(slab);
}

void on_countdown(Heap& heap, SizeClass c) {
  close(heap, c);
  open_again(heap, c);
  hooks::tick_after_free(heap);
}

}  // namespace acre::current
