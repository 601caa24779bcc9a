#include "slab/guard_pages.h"

#include "os/os.h"
#include "pages/page_heap.h"

namespace acre::guard_pages {

namespace {

void* last_page(const Run* run) { return pointer_to(run->end() - kPageBytes); }

bool has_guard(const Run* run) { return run->home->source() == nullptr; }

}  // namespace

ACRE_COLD void start() { g_on = os::page_bytes() == kPageBytes; }

ACRE_COLD void begin_arena(PageHeap& pages) {
  Run* run = g_on && pages.source() == nullptr ? pages.allocate(kRunUnitPages, kRunUnitPages) : nullptr;
  if (run == nullptr) return;
  run->older = nullptr;
  release_store(run->kind, RunKind::kGuard);
  run->guarded = os::guard(pointer_to(run->base), run->bytes());
}

// A page that the OS refuses to guard has no blocks all the same.
ACRE_COLD uint16_t begin(Run* run, const RunShape& shape) {
  run->guarded = false;
  if (!has_guard(run)) return shape.capacity;
  run->guarded = os::guard(last_page(run), kPageBytes);
  return static_cast<uint16_t>(smaller<size_t>(shape.capacity, (run->bytes() - kPageBytes) / shape.block_bytes));
}

ACRE_COLD void end(Run* run) {
  if (run->guarded) os::unguard(last_page(run), kPageBytes);
  run->guarded = false;
}

}  // namespace acre::guard_pages
