#include "heap/large.h"

#include <string.h>

#include "heap/fill.h"
#include "heap/malloc.h"
#include "heap/registry.h"
#include "heap/scarcity.h"
#include "heap/thread_bytes.h"
#include "os/os.h"
#include "pages/huge.h"

namespace acre::large {

namespace {

// Moving pages beats copying from here on. Each move may leave the kernel one mapping more to keep, so there
// is a most.
constexpr size_t kMoveFrom = size_t{4} << 20;
constexpr unsigned kMostMoves = 400;
constinit std::atomic<unsigned> g_moves{0};

// Where the calling thread's runs come from.
Arena* arena_of_thread() {
  HotHeap* hot = t_heap;
  if (hot == &kUnbornHeap) {
    registry::birth();
    hot = t_heap;
    if (hot == &kUnbornHeap) return nullptr;
  }
  return hot == &kGoneHeap ? arenas::at(0) : static_cast<Heap*>(hot)->arena;
}

// A slow-door event while blocks are filled.
void tick_shared() {
  Heap* heap = registry::enter_late_heap();
  if (heap == nullptr) return;
  tick(*heap);
  registry::leave_late_heap(heap);
}

// By a thread without a heap.
ACRE_COLD void allocated_late(Run* run, size_t zeroed) {
  if (!fill::is_on()) return;
  fill::new_bytes(pointer_to(run->base), zeroed, run->bytes(), run->fresh);
  tick_shared();
}

// By a thread without a heap. A huge block's memory goes back to the system.
ACRE_COLD void freeing_late(Run* run) {
  if (!fill::is_on()) return;
  if (run->kind == RunKind::kLarge) fill::freed_block(pointer_to(run->base), run->bytes());
  tick_shared();
}

constinit size_t g_most_resized = PTRDIFF_MAX;  // bytes

// As if the new block was allocated and the old one freed.
void count_resized(size_t old_bytes, size_t new_bytes) {
  Heap* heap = heap_if_any();
  if (heap == nullptr || old_bytes == new_bytes) return;
  thread_bytes::count_freed(*heap, old_bytes);
  thread_bytes::count_allocated(*heap, new_bytes);
}

// Runs of this length and more all come from the first arena, where they find each other's memory again: to
// fill one takes so much longer than to find it that its lock is no bottleneck.
constexpr size_t kSharedFrom = (size_t{256} << 10) / kPageBytes;
// Memory that is dirty anyway is taken before any that would make the process grow.
Run* run_of_pages(Arena* arena, size_t pages, size_t align_pages) {
  const unsigned count = arenas::count();
  if (pages >= kSharedFrom) arena = arenas::at(0);
  for (unsigned i = 0; i < count; ++i) {
    PageHeap& heap = arenas::at((arena->index + i) % count)->pages;
    if (heap.dirty_pages() < pages) continue;
    if (Run* run = heap.allocate_free(pages, align_pages, true)) return run;
  }
  if (align_pages == 1) {
    if (Run* run = arena->pages.allocate_around_dirty(pages)) return run;
  }
  if (Run* run = arena->pages.allocate(pages, align_pages)) return run;
  for (unsigned i = 1; i < count; ++i) {
    PageHeap& heap = arenas::at((arena->index + i) % count)->pages;
    if (Run* run = heap.allocate_free(pages, align_pages, false)) return run;
  }
  return nullptr;
}

bool is_huge(size_t bytes, size_t alignment) { return bytes > kHugeFrom || alignment > kHugePageBytes; }

// Its pages are part of another run now.
void free_emptied(Run* run) {
  run->fresh = true;
  run->home->free(run, false);
}

Run* move_to_other_run(Run* run, size_t n) {
  if (run->bytes() < kMoveFrom || g_moves.fetch_add(1, std::memory_order_relaxed) >= kMostMoves) return nullptr;
  Arena* arena = arena_of_thread();
  if (arena == nullptr) return nullptr;
  bool to_huge = is_huge(n, kPageBytes);
  Run* bigger = to_huge ? huge::allocate(n, kPageBytes) : run_of_pages(arena, pages_for(n), 1);
  if (bigger == nullptr) return nullptr;
  const os::Move move = os::move_pages(pointer_to(run->base), pointer_to(bigger->base), run->bytes());
  if (move != os::Move::kDone) {
    if (move == os::Move::kRefused) g_moves.store(kMostMoves, std::memory_order_relaxed);  // an old kernel
    if (to_huge) {
      huge::free_after_move(bigger, run->bytes(), move);
    } else if (move == os::Move::kRefused || os::map_at(bigger->base, run->bytes()) != nullptr) {
      bigger->home->free(bigger, true);
    }  // else its addresses are somebody else's now: it stays in use for ever
    return nullptr;
  }
  bigger->fresh = false;
  free_emptied(run);
  return bigger;
}

Run* find_run(size_t n, size_t alignment) {
  Arena* arena = arena_of_thread();
  if (arena == nullptr) return nullptr;
  if (is_huge(n, alignment)) return huge::allocate(n, larger(alignment, kPageBytes));
  const size_t pages = pages_for(larger<size_t>(n, 1));
  const size_t align_pages = larger<size_t>(1, alignment / kPageBytes);
  if (Run* run = run_of_pages(arena, pages, align_pages)) return run;
  gather_memory();
  return run_of_pages(arena, pages, align_pages);
}

}  // namespace

static void* hand_out(Run* run, size_t n, bool zeroed) {
  if (run == nullptr) return out_of_memory(n);
  void* block = pointer_to(run->base);
  if (zeroed && !run->fresh) memset(block, 0, n);
  if (Heap* heap = heap_if_any()) {
    thread_bytes::count_allocated(*heap, run->bytes());
    tick(*heap);
  } else {
    allocated_late(run, zeroed ? n : 0);
  }
  return block;
}

void* allocate(size_t n, size_t alignment, bool zeroed) {
  return hand_out(n > PTRDIFF_MAX ? nullptr : find_run(n, alignment), n, zeroed);
}

void* allocate_in(Arena* arena, size_t n, size_t alignment, bool zeroed) {
  if (n > PTRDIFF_MAX || is_huge(n, alignment)) return allocate(n, alignment, zeroed);
  const size_t pages = pages_for(larger<size_t>(n, 1));
  const size_t align_pages = larger<size_t>(1, alignment / kPageBytes);
  Run* run = arena->pages.allocate(pages, align_pages);
  if (run == nullptr) {
    gather_memory();
    run = arena->pages.allocate(pages, align_pages);
  }
  return hand_out(run, n, zeroed);
}

size_t block_bytes(size_t n, size_t alignment) {
  if (n > PTRDIFF_MAX || alignment > kMostAlignment) return 0;
  const size_t bytes = align_up(larger<size_t>(n, 1), is_huge(n, alignment) ? os::page_bytes() : kPageBytes);
  return bytes > PTRDIFF_MAX ? 0 : bytes;
}

void free(Run* run) {
  Heap* heap = heap_if_any();
  if (ACRE_LIKELY(heap != nullptr)) {
    thread_bytes::count_freed(*heap, run->bytes());
  } else {
    freeing_late(run);
  }
  if (run->kind == RunKind::kHuge) {
    huge::free(run);
  } else {
    run->home->free(run, true);
  }
  if (ACRE_LIKELY(heap != nullptr)) tick(*heap);
}

void forbid_resizing() { g_most_resized = 0; }

bool resize_in_place(Run* run, size_t n) {
  const size_t pages = pages_for(n);
  const size_t old_bytes = run->bytes();
  if (pages == run->pages) return true;
  if (n > g_most_resized) return false;
  if (run->kind == RunKind::kHuge) {
    if (!huge::resize_in_place(run, n)) return false;
  } else if (pages < run->pages) {
    run->home->shrink_in_place(run, pages);
  } else if (is_huge(n, kPageBytes) || !run->home->grow_in_place(run, pages)) {
    return false;
  }
  count_resized(old_bytes, run->bytes());
  return true;
}

void* resize(Run* run, size_t n) {
  if (pages_for(n) == run->pages) return pointer_to(run->base);
  const bool was_huge = run->kind == RunKind::kHuge;
  if (was_huge && n <= kHugeFrom / 2) return nullptr;  // a copy into an arena's memory
  if (resize_in_place(run, n)) return pointer_to(run->base);
  if (n > g_most_resized) return nullptr;
  const size_t old_bytes = run->bytes();
  run = was_huge ? huge::grow_elsewhere(run, n) : move_to_other_run(run, n);
  if (run == nullptr) return nullptr;
  count_resized(old_bytes, run->bytes());
  return pointer_to(run->base);
}

}  // namespace acre::large
