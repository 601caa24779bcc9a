#include "entry/api.h"

#include "control/statistics.h"
#include "heap/lookup.h"

namespace acre::api {

int malloc_trim(size_t pad) {
  size_t keep = pages_for(pad);
  size_t purged = 0;
  if (Heap* heap = heap_if_any()) empty_heap(*heap);
  for (unsigned i = 0; i < arenas::count(); ++i) {
    PageHeap& pages = arenas::at(i)->pages;
    purged += pages.purge_to(keep);
    keep -= smaller(keep, pages.dirty_pages());
  }
  return purged != 0;
}

void malloc_stats() { print_summary(2); }

int owns(const void* block) {
  Found found = find_block(block);
  return found.run != nullptr || (found.slab != nullptr && !is_marked(found.slab, block));
}

}  // namespace acre::api
