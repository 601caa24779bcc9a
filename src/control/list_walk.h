// A walk over another thread's private list.
#pragma once

#include "cache/heap.h"
#include "pages/page_map.h"
#include "slab/unit_table.h"

namespace acre {

// Works like find_block (cache/lookup.h) while other threads change the data. Null: p is no block.
inline const Slab* find_slab(const void* p) {
  const Slab* slab = unit_table::at(p);
  if (is_block_start(slab, p)) return slab;
  const Run* run = g_page_map.find(p);
  if (run == nullptr || racy_load(run->kind) != RunKind::kSlab) return nullptr;
  slab = racy_load(run->slab);
  return slab != nullptr && is_block_start(slab, p) ? slab : nullptr;
}

// The blocks of a private list may lie in several runs. The owner changes the list meanwhile,
// so each step is checked before the next one. Calls visit with each block's run, and ends if it returns false. Returns
// the list's length.
template <class Visit>
uint32_t walk_private_list(const Heap& heap, SizeClass c, Visit&& visit) {
  const uint32_t most = uint32_t{run_shape(c).capacity} + run_shape(c).most_listed;
  const Link* link = racy_load(heap.slots[c].head);
  const Slab* last = nullptr;
  uint32_t length = 0;
  for (; length < most && link != nullptr; ++length, link = racy_next(link)) {
    const Slab* slab = last != nullptr && is_block_start(last, link) ? last : find_slab(link);
    if (slab == nullptr || !seems_marked(link) || !visit(slab)) return length;
    last = slab;
  }
  return length;
}

}  // namespace acre
