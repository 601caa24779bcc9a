#include "cache/thread_bytes.h"

#include "cache/owner_at_work.h"
#include "cache/private_list.h"

namespace acre::thread_bytes {

namespace {

uint64_t deferred_blocks(const RunList& runs) {
  uint64_t blocks = 0;
  for (const Slab* slab = runs.newest(); slab != nullptr; slab = slab->node.next) blocks += slab::deferred_count(slab);
  return blocks;
}

}  // namespace

void look(Heap& heap) {
  const OwnerAtWork busy(heap);
  unshare_runs(heap);
  uint64_t allocated = 0;
  uint64_t freed = heap.outbox().total_bytes();
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    private_list::count(heap, c);
    const RunLists& lists = heap.use(c).lists;
    const uint64_t recycled = heap.use(c).blocks.recycled;
    const uint64_t taken = recycled + heap.use(c).blocks.listed - private_list::length(heap, c);
    uint64_t returned = recycled + heap.use(c).blocks.freed + deferred_blocks(lists.available);
    if (lists.current != nullptr) returned += slab::deferred_count(lists.current);
    allocated += taken * size_of_class(c);
    freed += returned * size_of_class(c);
  }
  for (const Slab* slab = heap.adopted.newest(); slab != nullptr; slab = slab->node.next) {
    freed += slab::deferred_count(slab) * uint64_t{slab->block_bytes};
  }
  ThreadBytes& bytes = heap.bytes;
  bytes.allocated += allocated - bytes.small_allocated;
  bytes.freed += freed - bytes.small_freed;
  bytes.small_allocated = allocated;
  bytes.small_freed = freed;
  note_peak(bytes);
}

}  // namespace acre::thread_bytes
