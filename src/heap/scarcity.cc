#include "heap/scarcity.h"

#include "heap/heap.h"
#include "heap/pressure.h"

namespace acre {

void gather_memory() {
  pressure::before_refusal();
  if (Heap* heap = heap_if_any()) empty_heap(*heap);
  pressure::return_for_hard_limit();
  arenas::for_each([](Arena& arena) {
    if (arena.pages.is_plain()) arena.pages.wait_for_purge();  // else this thread may be the one, in a hook
  });
}

}  // namespace acre
