#include "heap/scarcity.h"

#include "heap/heap.h"

namespace acre {

void gather_memory() {
  if (Heap* heap = heap_if_any()) empty_heap(*heap);
  for (unsigned i = 0; i < arenas::count(); ++i) arenas::at(i)->pages.wait_for_purge();
}

}  // namespace acre
