#include "heap/fill.h"
#include "heap/free.h"
#include "heap/idle.h"
#include "heap/large.h"
#include "heap/lookup.h"
#include "heap/misuse.h"

namespace acre {

namespace {

// Where runs have few blocks, one that comes back to a run that is no longer owned goes on the private list at once:
// to adopt the run for it, and to release it again after the next malloc, would cost several times as much. For
// the run it stays used.
ACRE_NOINLINE bool keep_block(Heap& heap, Slab* slab, void* p) {
  const SizeClass c = slab->size_class;
  Shelves& shelves = heap.shelves[c];
  if (shelves.kept_blocks >= run_shape(c).most_kept) return false;
  Slot& slot = heap.slots[c];
  if (high_part(slab->base) != slot.high) {
    if (!is_end(slot.head) || shelves.current != nullptr) return false;
    slot.high = high_part(slab->base);
  }
  ++shelves.kept_blocks;
  shelves.busy = true;
  write_link(slab, p, slot.head);
  slot.head = low_address(p);
  return true;
}

// In a run that was last this thread's. False if somebody has it now.
ACRE_NOINLINE bool release_after_adoption(Heap& heap, Slab* slab, void* p) {
  if (!slab::adopt(slab, heap.token)) return false;
  slab::defer(slab, p);
  const BusyAtShelves busy(heap);
  shelve_adopted(heap, slab);
  return true;
}

// A thread without a heap, or any while blocks are filled.
ACRE_COLD void release_without_heap(Slab* slab, void* p) {
  if (fill::is_on()) fill::freed_block(p, slab->block_bytes);
  write_link(slab, p, kEndOfList);
  slab::give_back(slab, low_address(p), link_of(p), 1);
}

void put_in_outbox(Heap& heap, Slab* slab, void* p) {
  const BusyAtShelves busy(heap);
  heap.outbox.add(slab, p);
}

ACRE_ALWAYS_INLINE void release_of_others(Slab* slab, void* p) {
  Heap* heap = heap_if_any();
  if (heap == nullptr) return release_without_heap(slab, p);
  if (relaxed_load(slab->last_owner) == heap->token) {
    if (slab->enough <= kFewEnough && keep_block(*heap, slab, p)) return tick(*heap);
    if (release_after_adoption(*heap, slab, p)) return;
  }
  relaxed_add(heap->counts.remote_frees, uint64_t{1});
  put_in_outbox(*heap, slab, p);
  tick(*heap);
}

void release_in_slab(Slab* slab, void* p) {
  if (is_marked(slab, p) && misuse::is_free(slab, p)) misuse::double_free("free", p, slab->block_bytes);
  if (relaxed_load(slab->owner) != this_thread()) return release_of_others(slab, p);
  slab::defer(slab, p);
  if (slab->countdown == 0) release_event(slab);
}

}  // namespace

ACRE_NOINLINE void release_elsewhere(Slab* slab, void* p) { release_of_others(slab, p); }

ACRE_NOINLINE void release_slow(void* p) {
  if (p == nullptr) return;
  Found found = find_block(p);
  if (found.slab != nullptr) return release_in_slab(found.slab, p);
  if (found.run != nullptr) return large::free(found.run);
  misuse::not_a_block("free", p);
}

}  // namespace acre
