#include "slab/holder.h"

#include "slab/order.h"

namespace acre {

void overwritten_list() {
  fatal("a list of free blocks was overwritten (write after free, or past a block's end)");
}

// An overwritten list leads out of its run, to a block without the mark, or in a circle.
ListEnd walk_list(const Slab* slab, Link* head) {
  ListEnd end;
  for (Link* link = head; link != nullptr; link = end.last->next()) {
    if (end.count == slab->capacity) overwritten_list();
    end.last = checked_link(slab, link);
    ++end.count;
  }
  return end;
}

namespace slab {

Link* cut(Slab* slab, uint32_t count, Link* tail) {
  if (is_by_chance()) return cut_by_chance(slab, count, tail);
  Address first = slab->base + size_t{slab->carved} * slab->block_bytes;
  Address block = first;
  for (uint32_t i = 1; i < count; ++i) {
    Address next = block + slab->block_bytes;
    write_link(pointer_to(block), link_of(next));
    block = next;
  }
  write_link(pointer_to(block), tail);
  set_carved(slab, slab->carved + count);
  return link_of(first);
}

Link* carve(Slab* slab, uint32_t count, Link* tail) {
  slab->countdown += static_cast<int32_t>(count);
  return cut(slab, count, tail);
}

Link* collect_remote(Slab* slab, uint64_t* sum) {
  RemoteWord word = load_remote(slab);
  while (!change_remote(slab, word, RemoteWord{})) {
  }
  *sum += word.free;
  return head_block(slab, word);
}

uint32_t return_list(Slab* slab, Link* head) {
  ListEnd end = walk_list(slab, head);
  end.last->set_next(slab->deferred);
  slab->deferred = head;
  slab->countdown -= static_cast<int32_t>(end.count);
  return end.count;
}

}  // namespace slab
}  // namespace acre
