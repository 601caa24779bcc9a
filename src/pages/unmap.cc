// Addresses for a block that the system has no room for: those of an arena's free pages.
//
// Chunks stay with their arenas, whose free runs may all be too short for one large block. Where addresses are short
// (`ulimit -v`, strict overcommit), free runs are unmapped, so that the system can map as much in one piece elsewhere.
#include "pages/huge_pages.h"
#include "pages/page_heap.h"
#include "pages/window.h"

namespace acre {

namespace {

// Each hole may split one of the kernel's mappings: shorter runs, and less than such a share of all, are not worth it.
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
      Run* run = free_[place(Holds::kClean)].find_among_longest(least, [=](Run* r) { return r->pages >= least; });
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
