#include "heap/large.h"

#include <string.h>

#include "heap/binding.h"
#include "heap/explicit.h"
#include "heap/fill.h"
#include "heap/hooks.h"
#include "heap/malloc.h"
#include "heap/pressure.h"
#include "heap/refusal.h"
#include "heap/registry.h"
#include "heap/scarcity.h"
#include "heap/tags.h"
#include "heap/thread_bytes.h"
#include "heap/watch.h"
#include "os/os.h"
#include "pages/huge.h"
#include "tables/options.h"

namespace acre::large {

constinit Reporter g_reporter = nullptr;

namespace {

ACRE_ALWAYS_INLINE void report(const void* block, size_t n) {
  if (ACRE_UNLIKELY(n >= kLeastReported) && g_reporter != nullptr) g_reporter(block, n);
}

bool is_huge(size_t bytes, size_t alignment) { return bytes > kHugeFrom || alignment > kHugePageBytes; }

// Moving pages beats copying from here on. Each move may leave the kernel two mappings more to keep, so
// there is a most.
constexpr size_t kMoveFrom = size_t{4} << 20;
constexpr unsigned kMostMoves = 200;
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
  if (align_pages == 1 && arena->pages.dirty_pages() != 0) {
    if (Run* run = arena->pages.allocate_around_dirty(pages)) return run;
  }
  if (Run* run = arena->pages.allocate(pages, align_pages)) {
    if (run->fresh) arenas::grew_by(pages);
    return run;
  }
  for (unsigned i = 1; i < count; ++i) {
    PageHeap& heap = arenas::at((arena->index + i) % count)->pages;
    if (Run* run = heap.allocate_free(pages, align_pages, false)) return run;
  }
  return nullptr;
}

// The kernel lets a process have some tens of thousands of mappings, and a huge block may be one, with a hole beside it.
// Where there are many, further blocks come from chunks as far as these go, so that only terabytes could come near.
constexpr size_t kManyHugeBlocks = 128;
constexpr size_t kMostInChunk = size_t{512} << 20;
bool may_come_from_chunk(size_t bytes, size_t alignment) {
  return bytes <= kMostInChunk && alignment <= kHugePageBytes;
}

// The longest are tried there where a mapping is refused: free runs may be long enough, and the data segment (sbrk)
// serves chunks alone.
bool fits_in_chunk(size_t bytes, size_t alignment) {
  return bytes <= window::kMostChunk && alignment <= window::kMostChunk;
}

// Its pages are part of another run now.
void free_emptied(Run* run) {
  run->fresh = true;
  run->home->free(run, false);
}

Run* move_to_other_run(Run* run, size_t n) {
  if (run->bytes() < kMoveFrom || arena_of(run)->is_explicit || run->home->source() != nullptr) return nullptr;
  const bool to_huge = is_huge(n, kPageBytes);  // then it becomes no more mappings than a huge block is
  if (!to_huge && g_moves.fetch_add(1, std::memory_order_relaxed) >= kMostMoves) return nullptr;
  Arena* arena = arena_of_thread();
  if (arena == nullptr) return nullptr;
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

Run* try_to_find_run(Arena* arena, size_t n, size_t alignment) {
  if (is_huge(n, alignment) && !(may_come_from_chunk(n, alignment) && huge::counts().blocks >= kManyHugeBlocks)) {
    Run* run = huge::allocate(n, larger(alignment, kPageBytes));
    if (run != nullptr) arenas::grew_by(run->pages);
    if (run != nullptr || !fits_in_chunk(n, alignment)) return run;
  }
  return run_of_pages(arena, pages_for(larger<size_t>(n, 1)), larger<size_t>(1, alignment / kPageBytes));
}

Run* find_run(size_t n, size_t alignment) {
  Arena* arena = arena_of_thread();
  if (arena == nullptr) return nullptr;
  if (Run* run = try_to_find_run(arena, n, alignment)) return run;
  gather_memory();
  if (Run* run = try_to_find_run(arena, n, alignment)) return run;
  return gather_addresses(n, alignment) ? try_to_find_run(arena, n, alignment) : nullptr;
}

}  // namespace

void* hand_out(Run* run, size_t n, bool zeroed) {
  if (run == nullptr) return out_of_memory(n);
  void* block = pointer_to(run->base);
  run->asked = n;
  if (zeroed && !run->fresh) memset(block, 0, n);
  if (Heap* heap = heap_if_any()) {
    thread_bytes::count_allocated(*heap, run->bytes());
    pressure::hurry_if_alarmed(*heap);
    tick(*heap);
  } else {
    allocated_late(run, zeroed ? n : 0);
  }
  if (ACRE_UNLIKELY(watch::is_on())) {
    watch::allocated_run(run);
    hooks::allocated(block, run->bytes(), n);
  }
  report(block, n);
  return block;
}

// A source of its own may give whole blocks of its granularity.
ACRE_COLD void* allocate_for(Tag& tag, size_t n, size_t alignment, bool zeroed) {
  const size_t bytes = block_bytes(n, alignment);
  if (bytes == 0 || !tags::charge_asking(tag, bytes)) return out_of_memory(n);
  Run* run = find_run(n, alignment);
  if (run == nullptr) {
    tags::discharge(tag, bytes);
  } else {
    tag.allocated.fetch_add(run->bytes() - bytes, std::memory_order_relaxed);
    run->tag = &tag;
    tags::note_peak(tag);
  }
  return hand_out(run, n, zeroed);
}

void* allocate(size_t n, size_t alignment, bool zeroed) {
  if (ACRE_UNLIKELY(!t_heap->is_plain) && t_heap != &kUnbornHeap) {
    if (Tag* tag = tags::in_force()) return allocate_for(*tag, n, alignment, zeroed);
    if (ExplicitArena* manual = binding::of_caller()) return arenas::allocate_in(*manual, n, alignment, zeroed);
  }
  Run* run = n > PTRDIFF_MAX ? nullptr : find_run(n, alignment);
  if (ACRE_UNLIKELY(run == nullptr) && refusal::ask()) return allocate(n, alignment, zeroed);
  return hand_out(run, n, zeroed);
}

ACRE_COLD Run* find_run_in(Arena& arena, size_t n, size_t alignment) {
  if (n > PTRDIFF_MAX) return nullptr;
  if (is_huge(n, alignment)) {
    Run* run = huge::allocate(n, larger(alignment, kPageBytes), &arena.pages);
    if (run != nullptr || !arena.pages.is_plain() || !fits_in_chunk(n, alignment)) return run;
  }
  return arena.pages.allocate(pages_for(larger<size_t>(n, 1)), larger<size_t>(1, alignment / kPageBytes));
}

ACRE_COLD void* allocate_in(Arena* arena, size_t n, size_t alignment, bool zeroed) {
  if (n > PTRDIFF_MAX || is_huge(n, alignment)) return allocate(n, alignment, zeroed);
  Run* run = find_run_in(*arena, n, alignment);
  if (run == nullptr) {
    gather_memory();
    run = find_run_in(*arena, n, alignment);
  }
  return hand_out(run, n, zeroed);
}

size_t block_bytes(size_t n, size_t alignment) {
  if (n > PTRDIFF_MAX || alignment > kMostAlignment) return 0;
  const size_t bytes = align_up(larger<size_t>(n, 1), is_huge(n, alignment) ? os::page_bytes() : kPageBytes);
  return bytes > PTRDIFF_MAX ? 0 : bytes;
}

void free(Run* run) {
  hooks::freeing(pointer_to(run->base));
  Heap* heap = heap_if_any();
  if (ACRE_LIKELY(heap != nullptr)) {
    thread_bytes::count_freed(*heap, run->bytes());
  } else {
    freeing_late(run);
  }
  if (ACRE_UNLIKELY(run->ticket != kNoTicket)) watch::freeing_run(run);
  if (ACRE_UNLIKELY(run->tag != nullptr)) tags::count_freed(*run->tag, run->bytes());
  if (run->kind == RunKind::kHuge) {
    huge::free(run);
  } else {
    run->home->free(run, true);
  }
  if (ACRE_LIKELY(heap != nullptr)) tick(*heap);
}

void forbid_resizing() { g_most_resized = 0; }

enum class May : uint8_t { kStay, kMove };

static bool change_in_place(Run* run, size_t n) {
  const size_t pages = pages_for(n);
  if (run->kind == RunKind::kHuge) return huge::resize_in_place(run, n);
  if (pages >= run->pages) return !is_huge(n, kPageBytes) && run->home->grow_in_place(run, pages);
  run->home->shrink_in_place(run, pages);
  return true;
}

// The block's run afterwards; null if that can't be done.
static Run* resized(Run* run, size_t n, May may) {
  const size_t pages = pages_for(n);
  if (pages > run->pages && limit::refuses((pages - run->pages) << kPageShift)) gather_memory();
  const bool was_huge = run->kind == RunKind::kHuge;
  if (may == May::kMove && was_huge && n <= kHugeFrom / 2) return nullptr;  // a copy into an arena's memory
  if (change_in_place(run, n)) return run;
  if (may == May::kStay || pages < run->pages) return nullptr;
  return was_huge ? huge::grow_elsewhere(run, n) : move_to_other_run(run, n);
}

// To a watcher a block of another size is another block. Hooks are called for a block while it is the program's, which
// one that has moved by then is not: with them it does not move.
ACRE_COLD static Run* resized_and_seen(Run* run, size_t n, May may) {
  if (hooks::is_on()) may = May::kStay;
  const Ticket ticket = run->ticket;
  const void* block = pointer_to(run->base);
  run->ticket = kNoTicket;  // the header may be another run's afterwards
  Run* to = resized(run, n, may);
  if (to == nullptr) {
    run->ticket = ticket;
    return nullptr;
  }
  if (ticket != kNoTicket) watch::freed(ticket);
  if (watch::is_on()) watch::allocated_run(to);
  hooks::freeing(block);
  hooks::allocated(pointer_to(to->base), to->bytes(), n);
  return to;
}

// What the block grows by has to be within its tag's limit. The tag is the run's as long as it is a block.
ACRE_COLD static Run* resized_and_tagged(Run* run, size_t n, May may) {
  Tag& tag = *run->tag;
  const size_t old_bytes = run->bytes();
  const size_t wanted = block_bytes(n, 1);
  const size_t more = wanted - smaller(wanted, old_bytes);
  if (wanted == 0 || !tags::charge(tag, more)) return nullptr;
  Run* to = run->ticket != kNoTicket || watch::is_on() ? resized_and_seen(run, n, may) : resized(run, n, may);
  if (to != nullptr) to->tag = &tag;
  const size_t new_bytes = to == nullptr ? old_bytes : to->bytes();
  const size_t surplus = old_bytes + more - new_bytes;
  more != 0 ? tags::discharge(tag, surplus) : tags::count_freed(tag, surplus);
  tags::note_peak(tag);
  return to;
}

static Run* resized_and_counted(Run* run, size_t n, May may) {
  if (n > g_most_resized) return nullptr;
  const size_t old_bytes = run->bytes();
  const bool seen = ACRE_UNLIKELY(run->ticket != kNoTicket) || ACRE_UNLIKELY(watch::is_on());
  Run* to = ACRE_UNLIKELY(run->tag != nullptr) ? resized_and_tagged(run, n, may)
             : seen                             ? resized_and_seen(run, n, may)
                                                : resized(run, n, may);
  if (to == nullptr) return nullptr;
  to->asked = n;
  count_resized(old_bytes, to->bytes());
  if (to->bytes() > old_bytes) report(pointer_to(to->base), n);
  return to;
}

bool resize_in_place(Run* run, size_t n) {
  return pages_for(n) == run->pages || resized_and_counted(run, n, May::kStay) != nullptr;
}

void* resize(Run* run, size_t n) {
  if (pages_for(n) == run->pages) {
    run->asked = n;
    return pointer_to(run->base);
  }
  Run* to = resized_and_counted(run, n, May::kMove);
  return to == nullptr ? nullptr : pointer_to(to->base);
}

}  // namespace acre::large
