// Unmaps free pages, so that the system can map a large block. Chunks stay with their arenas, whose free runs may all
// be too short for it. Where addresses are limited (`ulimit -v`, strict overcommit), only unmapped pages leave space
// for a mapping elsewhere.
#include "pages/huge_pages.h"
#include "pages/page_heap.h"
#include "pages/window.h"

namespace acre {

namespace {

// Each hole may split a kernel mapping: shorter runs, or a smaller share of the pages wanted, are not worth it.
constexpr size_t kLeastUnmapped = (size_t{256} << 10) / kPageBytes;
constexpr size_t kMostHoles = 64;

}  // namespace

ACRE_COLD size_t PageHeap::unmap_clean(size_t pages) {
  const size_t least = larger(kLeastUnmapped, pages / kMostHoles);
  size_t unmapped = 0;
  while (unmapped < pages) {
    window::Chunk chunk;
    {
      Lock lock(lock_);
      Run* run = free_[place(Holds::kClean)].find_among_longest(
          least, [=](Run* r) { return r->pages >= least && has_whole_os_pages(r); });
      if (run == nullptr) break;
      remove_free(run);
      counts_.obtained -= run->pages;
      chunk = {run->base, run->bytes()};
      drop_header(run);
    }
    huge_pages::forget({chunk.start, chunk.start + chunk.bytes});
    window::release(chunk);
    unmapped += chunk.bytes >> kPageShift;
  }
  return unmapped;
}

}  // namespace acre
