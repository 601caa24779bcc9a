#include "manual/manual_arena.h"

#include <errno.h>
#include <string.h>

#include "cache/free.h"
#include "cache/large.h"
#include "cache/malloc.h"
#include "cache/thread_bytes.h"
#include "cache/upcalls.h"
#include "pages/limit.h"
#include "pages/metadata.h"

namespace acre::arenas {

namespace {

// --- Heaps ----------------------------------------------------------------------------------------------------

// The heap's token is its address, which is no thread's token, so that no thread takes the heap's runs for its own. The
// heap is not plain, so slot_at, which no thread reads, is not filled in.
Heap* make_heap(ManualArena& arena) {
  const bool has_first = arena.has_first_heap.exchange(true);
  void* memory = has_first ? metadata::allocate_pages(Heap::kBytes) : memory_of_first_heap(arena);
  if (memory == nullptr) return nullptr;
  Heap* heap = Heap::in(memory);
  heap->begin();
  heap->is_plain = false;
  heap->token = address_of(heap);
  heap->arena = &arena.arena;
  heap->bound = true;
  Lock lock(arena.arena.heaps_lock);
  heap->next = arena.heaps;
  arena.heaps = heap;
  return heap;
}

Heap* take_idle(ManualArena& arena) {
  if (Heap* heap = arena.at_hand.exchange(nullptr, std::memory_order_acquire)) return heap;
  Lock lock(arena.arena.heaps_lock);
  Heap* heap = arena.idle;
  if (heap != nullptr) arena.idle = heap->next_fallback;
  return heap;
}

Heap* enter(ManualArena& arena) {
  Heap* heap = take_idle(arena);
  return heap != nullptr ? heap : make_heap(arena);
}

void leave(ManualArena& arena, Heap* heap) {
  Heap* none = nullptr;
  if (arena.at_hand.compare_exchange_strong(none, heap, std::memory_order_release, std::memory_order_relaxed)) return;
  Lock lock(arena.arena.heaps_lock);
  heap->next_fallback = arena.idle;
  arena.idle = heap;
}

// A heap for one allocation: the one that the thread keeps, if any, and if no allocation further up the stack uses it.
class Borrowed {
 public:
  Borrowed(ManualArena& arena, Heap** kept) : arena_(arena), kept_(kept) {
    if (kept != nullptr && *kept != nullptr) {
      heap_ = *kept;
      *kept = nullptr;
    } else {
      heap_ = enter(arena);
    }
  }
  ~Borrowed() {
    if (heap_ == nullptr) return;
    if (kept_ != nullptr && *kept_ == nullptr) {
      *kept_ = heap_;
    } else {
      leave(arena_, heap_);
    }
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  Heap* heap() const { return heap_; }

 private:
  ManualArena& arena_;
  Heap** kept_;
  Heap* heap_;
};

// Called when memory is refused: gives up what idle heaps and the thread's own keep, and waits for purges to end.
void gather(ManualArena& arena, Heap** kept = nullptr) {
  if (kept != nullptr && *kept != nullptr) {
    leave(arena, *kept);
    *kept = nullptr;
  }
  Heap* emptied = nullptr;
  while (Heap* heap = take_idle(arena)) {
    empty_heap(*heap);
    heap->next_fallback = emptied;
    emptied = heap;
  }
  while (emptied != nullptr) {
    Heap* heap = emptied;
    emptied = heap->next_fallback;
    leave(arena, heap);
  }
  arena.arena.pages.wait_for_purge();
}

// --- Blocks ---------------------------------------------------------------------------------------------------

void* take_small(ManualArena& arena, SizeClass c, Heap** kept) {
  const Borrowed borrowed(arena, kept);
  return borrowed.heap() == nullptr ? nullptr : take_block(*borrowed.heap(), c);
}

// A small block that a sampler sees has a run of its own, which holds the ticket.
ACRE_COLD void* allocate_seen(ManualArena& arena, SizeClass c, size_t n, size_t alignment, bool zeroed) {
  Run* run = arena.arena.pages.allocate(pages_for(size_of_class(c)), larger<size_t>(1, alignment / kPageBytes));
  if (run == nullptr) return nullptr;
  void* block = pointer_to(run->base);
  // Freed by any function; without the bytes behind a large block that the hardened mode fills.
  run->made_by = Kind::kAny;
  run->asked = run->bytes();
  run->slack_filled = false;
  if (zeroed && !run->fresh) memset(block, 0, run->bytes());
  if (fill::is_on()) fill::new_bytes(block, zeroed ? run->bytes() : 0, run->bytes(), run->fresh);
  if (fill::clears_sampled() && !run->fresh) fill::clear(block, zeroed ? run->bytes() : 0, run->bytes());
  sampler::seen_run(run, size_of_class(c));
  thread_bytes::count_allocated(run->bytes());
  hooks::allocated(block, run->bytes(), n);
  return block;
}

void* allocate_small(ManualArena& arena, SizeClass c, size_t n, size_t alignment, bool zeroed,
                     Heap** kept = nullptr, bool may_be_seen = true) {
  if (ACRE_UNLIKELY(sampler::is_on()) && may_be_seen && sampler::sees(size_of_class(c))) {
    if (void* block = allocate_seen(arena, c, n, alignment, zeroed)) return block;
  }
  void* block = take_small(arena, c, kept);
  if (block == nullptr) {
    gather(arena, kept);
    block = take_small(arena, c, kept);
  }
  if (block == nullptr) return out_of_memory(kSmallMax);
  thread_bytes::count_allocated(size_of_class(c));
  if (zeroed) memset(block, 0, n);
  if (fill::is_on()) fill::new_bytes(block, zeroed ? n : 0, size_of_class(c), false);
  hooks::allocated(block, size_of_class(c), n);
  return block;
}

void* allocate_large(ManualArena& arena, size_t n, size_t alignment, bool zeroed) {
  Run* run = large::find_run_in(arena.arena, n, alignment);
  if (run == nullptr) {
    gather(arena);
    if (limit::refuses(n + kHugePageBytes)) reclaim_before_refusal();  // the process's limit may have refused
    run = large::find_run_in(arena.arena, n, alignment);
  }
  if (run == nullptr) return out_of_memory(n);
  return large::hand_out(run, n, zeroed);
}

}  // namespace

static void* allocate_once(ManualArena& arena, size_t n, size_t alignment, bool zeroed) {
  const SizeClass c = class_for_aligned(n, alignment);
  if (c == kSmallClasses) return allocate_large(arena, n, alignment, zeroed);
  return allocate_small(arena, c, n, alignment, zeroed);
}

void* allocate_in(ManualArena& arena, size_t n, size_t alignment, bool zeroed) {
  const int saved_errno = errno;
  void* block = allocate_once(arena, n, alignment, zeroed);
  if (ACRE_LIKELY(arena.soft_limit.bytes.load(std::memory_order_relaxed) == SIZE_MAX)) return block;
  if (attend_soft_limit(arena, block == nullptr) && block == nullptr) {
    block = allocate_once(arena, n, alignment, zeroed);
    if (block != nullptr) errno = saved_errno;
  }
  return block;
}

void* allocate_small_in(ManualArena& arena, SizeClass c, size_t asked, Heap** kept, bool may_be_seen) {
  const size_t bytes = size_of_class(c);
  return allocate_small(arena, c, asked, bytes & (~bytes + 1), false, kept, may_be_seen);
}

void give_back_heap(ManualArena& arena, Heap* heap) { leave(arena, heap); }

void* reallocate_in(ManualArena& arena, void* p, size_t n) {
  if (hardened::is_on() && hardened::is_nothing(p)) {
    hardened::check_nothing(p, "acre_heap_realloc");
    void* moved = allocate_in(arena, n, 1, false);
    if (moved != nullptr) release(p);
    return moved;
  }
  const Found found = find_live_block(p, "acre_heap_realloc");
  if (manual_arena_of(found) == &arena) return reallocate(p, n);
  void* moved = allocate_in(arena, n, 1, false);
  if (moved == nullptr) return nullptr;
  memcpy(moved, p, smaller(n, program_bytes(found, p, "acre_heap_realloc")));
  release(p);
  return moved;
}

size_t bytes_in_use(const ManualArena& arena) {
  return (arena.arena.pages.used_pages() + arena.arena.pages.huge_pages()) * kPageBytes;
}

// --- All of them ------------------------------------------------------------------------------------------------

namespace {

// For a Walk, or a fork.
ManualArena* from(Arena* arena) { return arena == nullptr ? nullptr : manual_from(arena); }
ManualArena* first() { return from(first_manual()); }
ManualArena* after(ManualArena* arena) { return from(arena->arena.next_manual); }

}  // namespace

void for_each_heap(void (*visit)(Heap& heap, void* argument), void* argument) {
  const Walk walk;
  for (ManualArena* arena = first(); arena != nullptr; arena = after(arena)) {
    Lock lock(arena->arena.heaps_lock);
    for (Heap* heap = arena->heaps; heap != nullptr; heap = heap->next) visit(*heap, argument);
  }
}

ACRE_COLD void for_each_argument(void (*visit)(const void* argument, void* to), void* to) {
  for (ManualArena* arena = first(); arena != nullptr; arena = after(arena)) {
    if (arena->state.load() == ManualArena::State::kGone) continue;
    visit(arena->soft_limit.argument, to);
    visit(arena->source.hooks(), to);
  }
}

// --- Fork -----------------------------------------------------------------------------------------------------

// While the list's lock is held, no arena comes or goes.
void manual_at_fork(ForkStage stage) {
  if (stage == ForkStage::kBefore) manual_lock.at_fork(stage);
  for (ManualArena* arena = first(); arena != nullptr; arena = after(arena)) {
    arena->arena.heaps_lock.at_fork(stage);
    std::atomic<bool>& calling = arena->soft_limit.calling;  // in a thread that the child does not have
    if (stage == ForkStage::kInChild && calling.load(std::memory_order_relaxed)) calling.store(false);
  }
  if (stage != ForkStage::kBefore) manual_lock.at_fork(stage);
}
void manual_sources_at_fork(ForkStage stage) {
  for (ManualArena* arena = first(); arena != nullptr; arena = after(arena)) {
    if (arena->has_source) arena->source.at_fork(stage);
  }
}

}  // namespace acre::arenas
