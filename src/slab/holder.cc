#include "slab/holder.h"

#include "slab/order.h"

namespace acre {

void overwritten_list() {
  fatal("a list of free blocks was overwritten (write after free, or past a block's end)");
}

// An overwritten list leads out of its run, to a block without the mark, or in a circle.
ListEnd walk_list(const Slab* slab, LowAddress head) {
  ListEnd end;
  for (LowAddress low = head; !is_end(low); low = end.last->next) {
    if (end.count == slab->capacity) overwritten_list();
    end.last = checked_link(slab, low);
    ++end.count;
  }
  return end;
}

namespace slab {

LowAddress cut(Slab* slab, uint32_t count, LowAddress tail) {
  if (is_by_chance()) return cut_by_chance(slab, count, tail);
  Address first = slab->base + size_t{slab->carved} * slab->block_bytes;
  Address block = first;
  for (uint32_t i = 1; i < count; ++i) {
    Address next = block + slab->block_bytes;
    write_link(slab, pointer_to(block), low_address(next));
    block = next;
  }
  write_link(slab, pointer_to(block), tail);
  set_carved(slab, slab->carved + count);
  return low_address(first);
}

LowAddress carve(Slab* slab, uint32_t count, LowAddress tail) {
  slab->countdown += static_cast<int32_t>(count);
  return cut(slab, count, tail);
}

LowAddress collect_remote(Slab* slab, uint64_t* sum) {
  RemoteWord word = load_remote(slab);
  while (!change_remote(slab, word, RemoteWord{})) {
  }
  *sum += word.free;
  return head_block(slab, word);
}

uint32_t return_list(Slab* slab, LowAddress head) {
  ListEnd end = walk_list(slab, head);
  end.last->next = slab->deferred;
  slab->deferred = head;
  slab->countdown -= static_cast<int32_t>(end.count);
  return end.count;
}

}  // namespace slab
}  // namespace acre
