#include "entry/api.h"

#include "heap/large.h"
#include "heap/lookup.h"
#include "heap/misuse.h"

namespace acre::api {

int malloc_trim(size_t pad) {
  if (Heap* heap = heap_if_any()) empty_heap(*heap);
  return arenas::purge_all(pages_for(pad)) != 0;
}

// As large::allocate: whole pages, those of the OS if the block is a mapping of its own.
ACRE_COLD size_t nallocx(size_t size, int flags) {
  constexpr int kMostLog2 = 47;
  if (size > PTRDIFF_MAX || flags < 0 || flags > kMostLog2) return 0;
  const size_t alignment = size_t{1} << flags;
  const SizeClass c = class_for_aligned(size, alignment);
  if (c != kSmallClasses) return size_of_class(c);
  return align_up(larger<size_t>(size, 1), large::is_huge(size, alignment) ? os::page_bytes() : kPageBytes);
}

ACRE_COLD size_t release_memory(size_t bytes) {
  const size_t pages = arenas::dirty_pages();
  const size_t wanted = bytes / kPageBytes + (bytes % kPageBytes != 0);
  return arenas::purge_all(pages - smaller(pages, wanted)) * kPageBytes;
}

int owns(const void* block) {
  Found found = find_block(block);
  if (found.slab == nullptr && found.run == nullptr) return false;
  if (found.slab == nullptr) return !is_watched(found) || watched_runs::is_live(found.run->watched, block);
  return !is_marked(found.slab, block) || !misuse::is_free(found.slab, block);
}

}  // namespace acre::api
