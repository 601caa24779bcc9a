#include "heap/scarcity.h"

#include "heap/heap.h"
#include "heap/pressure.h"

namespace acre {

void gather_memory() {
  pressure::before_refusal();
  if (Heap* heap = heap_if_any()) empty_heap(*heap);
  pressure::return_for_hard_limit();
  for (unsigned i = 0; i < arenas::count(); ++i) arenas::at(i)->pages.wait_for_purge();
}

}  // namespace acre
