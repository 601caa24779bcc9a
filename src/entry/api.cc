#include "entry/api.h"

#include "cache/lookup.h"
#include "cache/misuse.h"
#include "cache/upcalls.h"
#include "reclaim/quiet_runs.h"

namespace acre::api {

ACRE_APART void free_aligned_sized(void* block, size_t alignment, size_t size) {
  release_at(unit_table::at(block), block, [=](void* p) { release_slow_sized(p, size, alignment, "free_aligned_sized"); },
             release_elsewhere_sized, AlignedSizeOf{size, alignment});
}

ACRE_COLD void* pvalloc(size_t size) {
  const size_t page = os::page_bytes();
  if (size > PTRDIFF_MAX) return out_of_memory();
  void* p = allocate_aligned(size == 0 ? page : align_up(size, page), page);
  if (hardened::is_on() && p != nullptr) hardened::set_kind(p, Kind::kRounded);
  return p;
}

// pages_for() for any number of bytes.
static size_t whole_pages(size_t bytes) { return bytes / kPageBytes + (bytes % kPageBytes != 0); }

ACRE_COLD int malloc_trim(size_t pad) {
  if (Heap* heap = heap_if_any()) empty_heap(*heap);
  if (hardened::is_on()) hardened::give_back_retired();
  const size_t purged = quiet_runs::purge_all();
  return arenas::purge_all(whole_pages(pad)) + purged != 0;
}

ACRE_COLD size_t release_memory(size_t bytes) {
  const size_t pages = arenas::dirty_pages();
  return arenas::purge_all(pages - smaller(pages, whole_pages(bytes))) * kPageBytes;
}

ACRE_COLD int owns(const void* block) {
  Found found = find_block(block);
  if (found.slab == nullptr && found.run == nullptr) {
    return hardened::is_on() && hardened::is_nothing(block) && hardened::is_live_nothing(block);
  }
  if (found.slab == nullptr) return !is_sampled(found) || sampled_runs::is_live(found.run->sampled, block);
  return !misuse::is_free(found.slab, block);
}

}  // namespace acre::api
