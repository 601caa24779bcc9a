#include "heap/free.h"
#include "heap/idle.h"
#include "heap/large.h"
#include "heap/lookup.h"
#include "heap/misuse.h"

namespace acre {

namespace {

void put_in_outbox(Heap& heap, Slab* slab, void* p) {
  const BusyAtShelves busy(heap);
  heap.outbox.add(slab, p);
}

void release_elsewhere(Slab* slab, void* p) {
  Heap* heap = heap_if_any();
  if (heap == nullptr) {
    write_link(slab, p, kEndOfList);
    return slab::give_back(slab, low_address(p), link_of(p), 1);
  }
  if (slab::adopt(slab, heap->token)) {
    slab::defer(slab, p);
    const BusyAtShelves busy(*heap);
    return shelve_adopted(*heap, slab);
  }
  relaxed_add(heap->counts.remote_frees, uint64_t{1});
  put_in_outbox(*heap, slab, p);
  tick(*heap);
}

void release_in_slab(Slab* slab, void* p) {
  if (is_marked(slab, p) && misuse::is_free(slab, p)) misuse::double_free("free", p, slab->block_bytes);
  if (relaxed_load(slab->owner) != this_thread()) return release_elsewhere(slab, p);
  slab::defer(slab, p);
  if (slab->countdown == 0) release_event(slab);
}

}  // namespace

ACRE_NOINLINE void release_slow(void* p) {
  if (p == nullptr) return;
  Found found = find_block(p);
  if (found.slab != nullptr) return release_in_slab(found.slab, p);
  if (found.run != nullptr) return large::free(found.run);
  misuse::not_a_block("free", p);
}

}  // namespace acre
