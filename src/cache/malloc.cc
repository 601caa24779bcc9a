#include "cache/malloc.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "cache/free.h"
#include "cache/known_caller.h"
#include "cache/large.h"
#include "cache/lookup.h"
#include "cache/misuse.h"
#include "cache/new_handler.h"
#include "cache/private_list.h"
#include "cache/registry.h"
#include "cache/rounding.h"
#include "cache/thread_bytes.h"
#include "cache/upcalls.h"
#include "slab/purge.h"
#include "tables/options.h"

namespace acre {

namespace {

ACRE_NOINLINE void tick_for(Heap& heap, SizeClass c, size_t n) {
  rounding::note(c, n);
  tick_slow(heap);
}

// Tries again each time that the program's new handler may have freed memory.
ACRE_COLD void* refused(size_t n) { return new_handler::ask() ? allocate(n) : out_of_memory(kSmallMax); }

// The end of an allocation for which the thread's own heap, or a borrowed one, has no block.
using Refused = void* (const Slot& slot);
ACRE_COLD void* own_refused(const Slot& slot) { return refused(size_of_class(static_cast<SizeClass>(&slot - t_heap->slots))); }
ACRE_COLD void* fallback_refused(const Slot&) { return nullptr; }

template <Refused kRefused>
ACRE_COLD void* allocate_while_sampling(size_t n, SizeClass c, Heap& heap) {
  if (ACRE_UNLIKELY(tick_is_due(heap))) tick_for(heap, c, n);
  if (ACRE_UNLIKELY(hooks::is_on()) && heap.kind == HeapKind::kUsual && &heap == t_heap) {
    heap.set_observed(true);
    return allocate(size_of_class(c));
  }
  void* block;
  {
    const KnownCaller known(&heap, __builtin_return_address(0));
    block = sampler::allocate(heap, c, n);
  }
  return block != nullptr ? block : kRefused(heap.slots[c]);
}

// The order of the parameters saves moves between registers.
template <Refused kRefused>
ACRE_ALWAYS_INLINE void* allocate_in(size_t n, SizeClass c, Heap& heap) {
  Slot* at = &heap.slots[c];
  asm("" : "+r"(at));  // else the compiler computes it again after refill(), and keeps c and heap for that
  Slot& slot = *at;
  if (may_take(slot)) return pop(slot);
  if (ACRE_UNLIKELY(sampler::is_on())) return allocate_while_sampling<kRefused>(n, c, heap);
  if (ACRE_UNLIKELY(tick_is_due(heap))) tick_for(heap, c, n);
  if (slot.head == nullptr) {
    if (!refill(heap, c)) return kRefused(slot);
  } else {
    private_list::count_and_let(heap, c, private_list::kMostLeft);
  }
  return pop(slot);
}
ACRE_NOINLINE void* allocate_in_own(size_t n, SizeClass c, Heap& heap) { return allocate_in<own_refused>(n, c, heap); }
ACRE_APART void* allocate_in_any(size_t n, SizeClass c, Heap& heap) { return allocate_in<fallback_refused>(n, c, heap); }

// Takes a block from a fallback heap: for a thread whose heap was ended or put aside, and for any thread while blocks
// are filled (fill.h). asked: the bytes that the program asked for. arena: if not null, the block comes from it alone.
ACRE_COLD void* allocate_from_fallback(SizeClass c, size_t asked, Arena* arena = nullptr) {
  Heap* heap = registry::enter_fallback_heap(arena);
  if (heap == nullptr) return out_of_memory(kSmallMax);
  void* block = allocate_in_any(asked, c, *heap);
  registry::leave_fallback_heap(heap);
  if (block == nullptr) return arena == nullptr ? refused(asked) : out_of_memory(kSmallMax);
  if (fill::is_on()) fill::new_bytes(block, 0, size_of_class(c), false);
  if (!hardened::is_on()) hooks::allocated(block, size_of_class(c), asked);  // src/hardened tells of it itself
  return block;
}

// For a thread with a tag in force, one that is bound to a manual arena, or one without a heap. A thread that ends the
// program gets whole pages, for which no list of blocks is walked: lists may be overwritten.
ACRE_COLD void* allocate_seldom(size_t n) {
  if (ACRE_UNLIKELY(this_thread_ends())) return large::allocate(n, 1, false);
  Heap* heap = heap_if_any();
  if (heap != nullptr && hooks::is_on() != (heap->kind == HeapKind::kObserved)) {
    heap->set_observed(hooks::is_on());
    return allocate(n);
  }
  return allocate_without_heap(class_of_size(n), n);
}

// --- For a thread whose heap is observed --------------------------------------------------------------------------

ACRE_APART void* observed(Heap& heap, void* block, SizeClass c, size_t n) {
  if (ACRE_LIKELY(relaxed_load(hooks::g_on) == hooks::kRecorded)) return record::allocated(&heap, block, n);
  hooks::allocated(block, size_of_class(c), n);
  return block;
}

ACRE_APART void* refill_and_observe(Heap& heap, SizeClass c, size_t n) {
  void* block = allocate_in_any(n, c, heap);
  return ACRE_LIKELY(block != nullptr) ? observed(heap, block, c, n) : refused(n);
}

// When there are no hooks any more, the heap becomes a usual one. All calls are last, so that no register is saved.
ACRE_APART void* allocate_observed(Heap& heap, size_t n) {
  const unsigned on = relaxed_load(hooks::g_on);
  if (ACRE_UNLIKELY(heap.is_diverted || on == 0 || is_ending())) return allocate_seldom(n);
  const SizeClass c = class_of_size(n);
  Slot& slot = heap.slots[c];
  if (ACRE_UNLIKELY(!may_take(slot))) return refill_and_observe(heap, c, n);
  void* block = pop(slot);
  return ACRE_LIKELY(on == hooks::kRecorded) ? record::allocated(&heap, block, n) : observed(heap, block, c, n);
}

ACRE_NOINLINE void* allocate_first(size_t n) {
  Heap* heap = registry::initialize_thread();
  const SizeClass c = class_of_size(n);
  // The process may have started only now, so the function that the program has called is not known.
  if (hardened::is_on()) return hardened::allocate(n, Kind::kAny);
  if (heap != nullptr) return heap->is_plain ? allocate_in_own(n, c, *heap) : allocate_slow(n);
  return t_heap == &kTerminatedHeap ? allocate_from_fallback(c, n) : out_of_memory(kSmallMax);
}

ACRE_NOINLINE void* allocate_otherwise(size_t n) {
  if (hardened::is_on()) return hardened::allocate(n, Kind::kMalloc);
  HotHeap* hot = t_heap;
  if (hot->kind == HeapKind::kObserved) return allocate_observed(*static_cast<Heap*>(hot), n);
  return hot == &kUninitializedHeap ? allocate_first(n) : allocate_seldom(n);
}

// A block that moves stays in the manual arena that the program has chosen for it, and keeps its tag.
void* allocate_beside(const Found& found, const void* p, size_t n) {
  if (found.slab != nullptr && ACRE_LIKELY(!is_manual(found.slab))) return allocate(n);
  return manual::allocate_beside(found, p, n);
}

}  // namespace

// A program that asks for the size of a block may use all of it.
ACRE_COLD static void check_live_sampled(const char* caller, const Found& found, const void* p) {
  SampledRun* run = found.run->sampled;
  if (!sampled_runs::is_live(run, p)) misuse::double_free(caller, p, run->block_bytes);
  relaxed_store(run->asked, run->block_bytes);
}

Found find_live_block(const void* p, const char* caller) {
  Found found = find_block(p);
  if (found.slab != nullptr) {
    if (is_marked(p) || slab::has_purged(found.slab)) misuse::check_live(caller, found.slab, p);
    return found;
  }
  if (found.run == nullptr) misuse::not_a_block(caller, p);
  if (is_sampled(found)) check_live_sampled(caller, found, p);
  return found;
}

void* take_block(Heap& heap, SizeClass c) {
  Slot& slot = heap.slots[c];
  if (slot.head == nullptr) {
    tick(heap);
    if (!refill(heap, c)) return nullptr;
  }
  return pop(slot);
}

ACRE_APART void* take_or_null(Heap& heap, SizeClass c, size_t asked) {
  return may_take(heap.slots[c]) ? pop(heap.slots[c]) : allocate_in_any(asked, c, heap);
}

ACRE_COLD void* allocate_without_heap(SizeClass c, size_t asked) {
  void* block;
  return manual::allocate_small(c, asked, &block) ? block : allocate_from_fallback(c, asked);
}

ACRE_COLD void* allocate_small_in(Arena* arena, SizeClass c, size_t n) {
  void* block = allocate_from_fallback(c, n, arena);
  if (block != nullptr) thread_bytes::count_allocated(size_of_class(c));
  return block;
}

ACRE_NOINLINE void* allocate_slow(size_t n) {
  if (n > kSmallMax) return large::allocate(n, 1, false);
  HotHeap* heap = t_heap;
  if (ACRE_UNLIKELY(!heap->is_plain)) return allocate_otherwise(n);
  const SizeClass c = class_of_size(n);
  if (may_take(heap->slots[c])) return pop(heap->slots[c]);
  return allocate_in_own(n, c, *static_cast<Heap*>(heap));
}

ACRE_COLD void* out_of_memory(size_t n) {
  if (relaxed_load(options().xmalloc)) {
    Line<120> text;
    text.add("out of memory: a block of ").add(n == kSmallMax ? "up to " : "").decimal(n);
    text.add(" bytes was refused, and xmalloc is set");
    fatal(text.c_str());
  }
  errno = ENOMEM;
  return nullptr;
}

// While it exists, the calling thread's observed heap knows what was called. Nothing happens for other heaps.
class Calling {
 public:
  Calling(CallKind kind, size_t asked, size_t alignment) {
    if (t_heap->kind != HeapKind::kObserved) return;
    heap_ = t_heap;
    heap_->call = {kind, static_cast<uint8_t>(floor_log2(alignment)), false, asked};
  }
  ~Calling() {
    if (heap_ != nullptr) heap_->call = {};
  }
  Calling(const Calling&) = delete;

  bool is_told() const { return heap_ != nullptr && heap_->call.is_told; }

 private:
  HotHeap* heap_ = nullptr;
};

static bool is_observed() { return ACRE_UNLIKELY(t_heap->kind == HeapKind::kObserved); }

ACRE_APART static void* call_zeroed(size_t n) {
  const Calling call(CallKind::kZeroed, n, 1);
  return n > kSmallMax ? large::allocate(n, 1, true) : allocate_slow(n);
}

ACRE_NOINLINE static void* allocate_slow_zeroed(size_t n) { return is_observed() ? call_zeroed(n) : allocate_slow(n); }

void* allocate_zeroed(size_t n) {
  if (n > kSmallMax) return is_observed() ? call_zeroed(n) : large::allocate(n, 1, true);
  void* p = allocate_or(n > kTableMax, n, allocate_slow_zeroed);
  if (ACRE_LIKELY(p != nullptr)) memset(p, 0, n);
  return p;
}

ACRE_APART static void* call_aligned(SizeClass c, size_t n, size_t alignment) {
  const Calling call(CallKind::kAligned, n, alignment);
  if (hardened::is_on()) return hardened::allocate_aligned(n, alignment, Kind::kMalloc);
  return c == kSmallClasses ? large::allocate(n, alignment, false) : allocate_slow(size_of_class(c));
}

ACRE_APART static void* allocate_slow_aligned(SizeClass c, size_t n, size_t alignment) {
  if (is_observed()) return call_aligned(c, n, alignment);
  if (ACRE_UNLIKELY(t_heap == &kUninitializedHeap)) start_process();
  return hardened::is_on() ? hardened::allocate_aligned(n, alignment, Kind::kMalloc) : allocate_slow(size_of_class(c));
}

void* allocate_aligned(size_t n, size_t alignment) {
  SizeClass c = class_for_aligned(n, alignment);
  if (c == kSmallClasses) return is_observed() ? call_aligned(c, n, alignment) : large::allocate(n, alignment, false);
  const size_t bytes = size_of_class(c);
  return allocate_or(bytes > kTableMax, bytes, [=](size_t) { return allocate_slow_aligned(c, n, alignment); });
}

ACRE_COLD static size_t hardened_size(const void* p, const char* caller) {
  if (!hardened::is_nothing(p)) return hardened::size_of(find_live_block(p, caller), p, caller);
  hardened::check_nothing(p, caller);
  return 0;
}

size_t usable_size(const void* p, const char* caller) {
  return hardened::is_on() ? hardened_size(p, caller) : block_bytes(find_live_block(p, caller));
}

static constinit std::atomic<uint64_t> g_zero_reallocs{0};

ACRE_COLD void count_zero_realloc() { g_zero_reallocs.fetch_add(1, std::memory_order_relaxed); }
uint64_t zero_reallocs() { return g_zero_reallocs.load(std::memory_order_relaxed); }

static bool is_of_class(size_t n, SizeClass c) { return n <= kSmallMax && class_of_size(n) == c; }

// moved: the new block, or null.
ACRE_ALWAYS_INLINE static void* move_block_to(void* moved, const Found& found, void* p, size_t n) {
  if (moved == nullptr) return nullptr;
  memcpy(moved, p, smaller(n, program_bytes(found, p, "realloc")));
  release(p);
  return moved;
}

ACRE_NOINLINE static void* move_block(Found found, void* p, size_t n) {
  return move_block_to(allocate_beside(found, p, n), found, p, n);
}

// A block of no bytes has no contents.
ACRE_COLD static void* reallocate_nothing(void* p, size_t n) {
  hardened::check_nothing(p, "realloc");
  void* moved = allocate(n);
  if (moved != nullptr) release(p);
  return moved;
}

ACRE_COLD static void* move_block_for_pointers(const Found& found, void* p, size_t n) {
  return move_block_to(hardened::allocate_for_pointers({n, 1, Kind::kMalloc}), found, p, n);
}

ACRE_APART static void* reallocate_any(void* p, size_t n) {
  if (hardened::is_on() && hardened::is_nothing(p)) return reallocate_nothing(p, n);
  const Found found = find_live_block(p, "realloc");
  if (hardened::is_on() && hardened::is_protected(found)) {
    if (void* resized = hardened::reallocate_in_place(found, p, n)) return resized;
  } else if (found.slab != nullptr) {
    if (is_of_class(n, found.slab->size_class)) return p;
  } else if (is_sampled(found)) {
    if (is_of_class(n, found.run->sampled->size_class)) return p;
  } else if (n > kSmallMax || (hardened::is_on() && n == found.run->asked)) {
    if (void* resized = large::resize(found.run, n)) return resized;
  }
  if (hardened::is_on() && hardened::is_for_pointers(found)) return move_block_for_pointers(found, p, n);
  return move_block(found, p, n);
}

ACRE_APART static void* reallocate_observed(void* p, size_t n) {
  const Calling call(CallKind::kReallocated, n, 1);
  void* moved = reallocate_any(p, n);
  if (moved == p && !call.is_told()) hooks::resized(p, n);
  return moved;
}

void* reallocate(void* p, size_t n) {
  if (ACRE_UNLIKELY(hooks::is_on())) return reallocate_observed(p, n);
  Slab* slab = unit_table::at(p);
  if (ACRE_LIKELY(is_block_start(slab, p) && !is_marked(p))) {
    return is_of_class(n, slab->size_class) ? p : move_block({slab, nullptr}, p, n);
  }
  return reallocate_any(p, n);
}

}  // namespace acre
