#include "cache/large.h"

#include <string.h>

#include "cache/known_caller.h"
#include "cache/malloc.h"
#include "cache/new_handler.h"
#include "cache/registry.h"
#include "cache/thread_bytes.h"
#include "cache/upcalls.h"
#include "os/os.h"
#include "pages/huge.h"
#include "tables/options.h"

namespace acre::large {

constinit Reporter g_reporter = nullptr;

namespace {

// From here on, moving pages is faster than copying. A move may cost the kernel two more mappings, so there is a limit.
constexpr size_t kMoveFrom = size_t{4} << 20;
constexpr unsigned kMostMoves = 200;
constinit std::atomic<unsigned> g_moves{0};

// The arena of the calling thread's runs. Null: memory for a heap was refused.
Arena* arena_of_thread() {
  HotHeap* hot = t_heap;
  if (hot == &kUninitializedHeap) {
    registry::initialize_thread();
    hot = t_heap;
    if (hot == &kUninitializedHeap) return nullptr;
  }
  return hot == &kTerminatedHeap ? arenas::at(0) : static_cast<Heap*>(hot)->arena;
}

void tick_shared() {
  Heap* heap = registry::enter_fallback_heap();
  if (heap == nullptr) return;
  tick(*heap);
  registry::leave_fallback_heap(heap);
}

ACRE_COLD void allocated_without_heap(Run* run, size_t zeroed) {
  if (!fill::is_on()) return;
  fill::new_bytes(pointer_to(run->base), zeroed, run->bytes(), run->fresh);
  tick_shared();
}

// A huge block is not filled, since its memory goes back to the system.
ACRE_COLD void freeing_without_heap(Run* run) {
  if (!fill::is_on()) return;
  if (run->kind == RunKind::kLarge) fill::freed_block(pointer_to(run->base), run->bytes());
  tick_shared();
}

// Runs of this many pages or more come from the first of kSharing arenas, where those of as many threads find each
// other's memory again. To fill such a run takes much longer than to find it, but not than to wait for 64 threads.
constexpr size_t kSharedFrom = (size_t{256} << 10) / kPageBytes;
constexpr unsigned kSharing = 8;

// Whether a run may be dirty in part. Not for calloc, which would touch the part that is clean, nor for a run that
// pages are moved to.
enum class Join : bool { kNo, kYes };

ACRE_ALWAYS_INLINE Run* joined_run(Arena* arena, size_t pages, size_t align_pages, Join join) {
  if (align_pages != 1 || join == Join::kNo) return nullptr;
  if (arena->pages.dirty_pages() + arena->pages.muzzy_pages() < pages / 2) return nullptr;
  size_t clean;
  Run* run = arena->pages.allocate_joined(pages, &clean);
  if (run != nullptr) arenas::grew_by(clean);
  return run;
}

// Takes dirty memory of any arena before memory that would make the process grow.
Run* run_of_pages(Arena* arena, size_t pages, size_t align_pages, Join join) {
  const unsigned count = arenas::count();
  if (hardened::is_on() && arena->is_of_class) arena = arenas::at(0);
  if (pages >= kSharedFrom && !hardened::is_on()) arena = arenas::at(arena->index - arena->index % kSharing);
  for (unsigned i = 0; i < count; ++i) {
    Arena* other = arenas::at((arena->index + i) % count);
    if (other->pages.dirty_pages() < pages || (hardened::is_on() && other->is_of_class)) continue;
    if (Run* run = other->pages.allocate_free(pages, align_pages, true)) return run;
  }
  if (Run* run = joined_run(arena, pages, align_pages, join)) return run;
  if (Run* run = arena->pages.allocate(pages, align_pages)) {
    if (run->fresh) arenas::grew_by(pages);
    return run;
  }
  for (unsigned i = 1; i < count; ++i) {
    Arena* other = arenas::at((arena->index + i) % count);
    if (hardened::is_on() && other->is_of_class) continue;
    if (Run* run = other->pages.allocate_free(pages, align_pages, false)) return run;
  }
  return nullptr;
}

// The kernel allows a process some tens of thousands of mappings, and a huge block may take one, with a hole beside it.
// Once there are many, further ones come from chunks, as far as they fit: only terabytes could come near the limit.
constexpr size_t kManyHugeBlocks = 128;
constexpr size_t kMostInChunk = size_t{512} << 20;
bool may_come_from_chunk(size_t bytes, size_t alignment) {
  return bytes <= kMostInChunk && alignment <= kHugePageBytes;
}

// If a mapping is refused, even the longest blocks are tried there: free runs may be long enough, and the data segment
// (sbrk) serves chunks alone.
bool fits_in_chunk(size_t bytes, size_t alignment) {
  return bytes <= window::kMostChunk && alignment <= window::kMostChunk;
}

// Frees a run whose pages were moved to another run. Its addresses are mapped still, and read as zeros.
void free_emptied(Run* run) {
  run->fresh = true;
  run->home->free(run, false);
}

ACRE_ALWAYS_INLINE Run* try_to_find_run(Arena* arena, size_t n, size_t alignment, Join join) {
  if (is_huge(n, alignment) && !(may_come_from_chunk(n, alignment) && huge::counts().blocks >= kManyHugeBlocks)) {
    Run* run = huge::allocate(n, larger(alignment, kPageBytes));
    if (run != nullptr) arenas::grew_by(run->pages);
    if (run != nullptr || !fits_in_chunk(n, alignment)) return run;
  }
  return run_of_pages(arena, pages_for(larger<size_t>(n, 1)), larger<size_t>(1, alignment / kPageBytes), join);
}

}  // namespace

ACRE_APART Run* move_to_other_run(Run* run, size_t n) {
  if (run->bytes() < kMoveFrom || !has_whole_os_pages(run)) return nullptr;
  if (arena_of(run)->is_manual || run->home->source() != nullptr) return nullptr;
  const bool to_huge = is_huge(n, kPageBytes);  // then it takes no more mappings than any huge block
  if (!to_huge && g_moves.fetch_add(1, std::memory_order_relaxed) >= kMostMoves) return nullptr;
  Arena* arena = arena_of_thread();
  if (arena == nullptr) return nullptr;
  Run* bigger = to_huge ? huge::allocate(n, kPageBytes)
                        : run_of_pages(arena, pages_for(n), os::page_bytes() / kPageBytes, Join::kNo);
  if (bigger == nullptr) return nullptr;
  const os::Move move = os::move_pages(pointer_to(run->base), pointer_to(bigger->base), run->bytes());
  if (move != os::Move::kDone) {
    if (move == os::Move::kRefused) g_moves.store(kMostMoves, std::memory_order_relaxed);  // an old kernel, or no mapping left
    if (to_huge) {
      huge::free_after_move(bigger, run->bytes(), move);
    } else if (move == os::Move::kRefused || os::map_at(bigger->base, run->bytes()) != nullptr) {
      bigger->home->free(bigger, true);
    }  // otherwise another mapping has the addresses now: the run stays in use for ever
    return nullptr;
  }
  bigger->fresh = false;
  free_emptied(run);
  return bigger;
}

// Threads without a turn may take what was unmapped.
constexpr unsigned kMostUnmapped = 4;

ACRE_COLD static Run* find_run_after_refusal(Arena* arena, size_t n, size_t alignment, Join join) {
  reclaim_before_refusal();
  if (Run* run = try_to_find_run(arena, n, alignment, join)) return run;
  const TurnToUnmap turn;
  for (unsigned i = 0; i < kMostUnmapped; ++i) {
    if (Run* run = try_to_find_run(arena, n, alignment, join)) return run;
    if (!unmap_before_refusal(n, alignment)) return nullptr;
  }
  return try_to_find_run(arena, n, alignment, join);
}

static Run* find_run(size_t n, size_t alignment, Join join) {
  Arena* arena = arena_of_thread();
  if (ACRE_UNLIKELY(arena == nullptr)) return nullptr;
  Run* run = try_to_find_run(arena, n, alignment, join);
  return ACRE_LIKELY(run != nullptr) ? run : find_run_after_refusal(arena, n, alignment, join);
}

Run* find_run(size_t n, size_t alignment) { return find_run(n, alignment, Join::kNo); }

ACRE_COLD static void tell_of_block(Run* run, size_t n, const void* caller) {
  const KnownCaller known(heap_if_any(), caller);
  void* block = pointer_to(run->base);
  if (sampler::is_on()) {
    if (fill::clears_sampled() && !run->fresh) fill::clear(block, 0, run->bytes());
    sampler::allocated_run(run);
    hooks::allocated(block, run->slack_filled ? n : run->bytes(), n);  // what malloc_usable_size says
  }
  report(block, n);
}

void* hand_out(Run* run, size_t n, bool zeroed) {
  if (run == nullptr) return out_of_memory(n);
  void* block = pointer_to(run->base);
  run->asked = n;
  run->made_by = Kind::kMalloc;
  run->slack_filled = false;
  if (ACRE_UNLIKELY(hardened::is_on())) hardened::fill_slack(run);  // before a hook asks for the block's size
  if (zeroed && !run->fresh) memset(block, 0, n);
  if (Heap* heap = heap_if_any()) {
    thread_bytes::count_allocated(*heap, run->bytes());
    tick_soon_if_alarmed(*heap);
    tick(*heap);
  } else {
    allocated_without_heap(run, zeroed ? n : 0);
  }
  if (ACRE_UNLIKELY(sampler::is_on() || n >= kLeastReported)) tell_of_block(run, n, __builtin_return_address(0));
  return block;
}

ACRE_ALWAYS_INLINE static void* allocate_from_any(size_t n, size_t alignment, bool zeroed) {
  Run* run = n > PTRDIFF_MAX ? nullptr : find_run(n, alignment, zeroed ? Join::kNo : Join::kYes);
  if (ACRE_UNLIKELY(run == nullptr) && new_handler::ask()) return allocate(n, alignment, zeroed);
  return hand_out(run, n, zeroed);
}

// For a thread whose heap is not plain, or which has none any more.
ACRE_COLD static void* allocate_seldom(size_t n, size_t alignment, bool zeroed) {
  void* block;
  if (manual::allocate_large(n, alignment, zeroed, &block)) return block;
  Run* run = hardened::is_on() ? hardened::find_guarded_run(n, alignment) : nullptr;
  return run != nullptr ? hand_out(run, n, zeroed) : allocate_from_any(n, alignment, zeroed);
}

void* allocate(size_t n, size_t alignment, bool zeroed) {
  const HotHeap* hot = t_heap;
  const bool is_first = hot == &kUninitializedHeap && !hardened::is_on();
  const bool is_usual = hot->is_plain || is_first;
  return ACRE_LIKELY(is_usual) ? allocate_from_any(n, alignment, zeroed) : allocate_seldom(n, alignment, zeroed);
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
    reclaim_before_refusal();
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
    freeing_without_heap(run);
  }
  if (ACRE_UNLIKELY(run->ticket != kNoTicket)) sampler::freeing_run(run);
  if (ACRE_UNLIKELY(run->tag != nullptr)) tags::count_freed(*run->tag, run->bytes());
  if (run->kind == RunKind::kHuge) {
    huge::free(run);
  } else if (hardened::is_on()) {
    hardened::free_guarded_run(run);
  } else {
    run->home->free(run, true);
  }
  if (ACRE_LIKELY(heap != nullptr)) tick(*heap, true);
}

}  // namespace acre::large
