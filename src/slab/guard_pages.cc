#include "slab/guard_pages.h"

#include <atomic>

#include "os/os.h"
#include "pages/page_heap.h"
#include "slab/arena.h"

namespace acre::guard_pages {

namespace {

void* last_page(const Run* run) { return pointer_to(run->end() - kPageBytes); }

// Runs of a manual arena are freed whole, also while blocks of theirs live.
bool has_guard(const Run* run) { return run->home->source() == nullptr && !arena_with(run->home)->is_manual; }

// Runs that are guards only because the system refused to make them usable, through node.next.
constinit std::atomic<Run*> g_kept{nullptr};

void keep(Run* first, Run* last) {
  Run* next = g_kept.load(std::memory_order_relaxed);
  do {
    last->node.next = next;
  } while (!g_kept.compare_exchange_weak(next, first, std::memory_order_release, std::memory_order_relaxed));
}

// Tries one of the runs that are kept.
void lift_again() {
  if (ACRE_LIKELY(g_kept.load(std::memory_order_relaxed) == nullptr)) return;
  Run* run = g_kept.exchange(nullptr, std::memory_order_acquire);
  if (run == nullptr) return;
  Run* rest = run->node.next;
  if (os::unguard(pointer_to(run->base), run->bytes())) {
    run->guarded = run->fresh = false;
    run->home->free(run, true);
  } else {
    keep(run, run);
  }
  if (rest == nullptr) return;
  Run* last = rest;
  while (last->node.next != nullptr) last = last->node.next;
  keep(rest, last);
}

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

ACRE_COLD bool lift(Run* run) {
  lift_again();
  if (!run->guarded) return true;
  const bool is_slab = run->kind == RunKind::kSlab;
  if (os::unguard(is_slab ? last_page(run) : pointer_to(run->base), is_slab ? kPageBytes : run->bytes())) {
    run->guarded = false;
    return true;
  }
  run->older = nullptr;
  release_store(run->kind, RunKind::kGuard);
  keep(run, run);
  return false;
}

}  // namespace acre::guard_pages
