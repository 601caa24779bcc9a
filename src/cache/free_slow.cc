#include "cache/free.h"
#include "cache/known_caller.h"
#include "cache/large.h"
#include "cache/lookup.h"
#include "cache/misuse.h"
#include "cache/owner_at_work.h"
#include "cache/registry.h"
#include "cache/thread_bytes.h"
#include "cache/upcalls.h"
#include "slab/purge.h"

namespace acre {

namespace {

// Gives a block back to its run without a heap.
ACRE_COLD void give_back_now(Slab* slab, void* p) {
  if (fill::is_on()) fill::freed_block(p, slab->block_bytes);
  slab::give_back(slab, p);
}

ACRE_COLD void release_without_heap(Slab* slab, void* p) {
  hooks::freeing(p);
  give_back_now(slab, p);
}

// A block of a manual arena never waits in an outbox (manual/manual_arena.h).
ACRE_COLD void release_manual(Slab* slab, void* p) {
  thread_bytes::count_freed(slab->block_bytes);
  hooks::freeing(p);
  if (is_labelled(slab)) tags::freeing(slab, p);
  give_back_now(slab, p);
}

ACRE_ALWAYS_INLINE bool put_in_outbox(Heap& heap, Slab* slab, void* p) {
  const OwnerAtWork busy(heap);
  return heap.outbox().add(slab, p);
}

ACRE_NOINLINE void hand_over(Heap& heap, Slab* slab, void* p) {
  if (!put_in_outbox(heap, slab, p)) return;
  hooks::tick_after_free(heap);
}

// For a run that has just become the thread's.
ACRE_ALWAYS_INLINE void release_adopted(Heap& heap, Slab* slab, void* p) {
  slab::defer(slab, p);
  const OwnerAtWork busy(heap);
  keep_adopted(heap, slab);
}

// For a run that this thread owned last. If the run cannot be adopted, the block goes to the outbox.
ACRE_NOINLINE void adopt_and_release(Heap& heap, Slab* slab, void* p) {
  if (!slab::adopt(slab, heap.owner())) return hand_over(heap, slab, p);
  release_adopted(heap, slab, p);
}

// The same for a run whose last owner has ended. Its other blocks are likely to be freed by this thread, too.
ACRE_APART void inherit_and_release(Heap& heap, Slab* slab, void* p) {
  if (!slab::inherit(slab, heap.owner())) return hand_over(heap, slab, p);
  release_adopted(heap, slab, p);
}

bool has_no_owner_left(const Slab* slab) { return OwnerLives::has_ended(relaxed_load(slab->last_owner)); }

ACRE_NOINLINE void give_back_shared(Heap& heap, Slab* slab, void* p) {
  ++heap.use(slab->size_class).blocks.freed;
  slab::give_back(slab, p);
  hooks::tick_after_free(heap);
}

}  // namespace

// The same as without observers.
ACRE_APART void release_told(Heap& heap, Slab* slab, void* p) {
  if (relaxed_load(slab->owner) == heap.token) {
    slab::defer(slab, p);
    if (slab->countdown == 0) release_event(slab);
  } else if (is_shared_class(slab->size_class)) {
    give_back_shared(heap, slab, p);
  } else if (relaxed_load(slab->last_owner) == heap.lives.current()) {
    adopt_and_release(heap, slab, p);
  } else {
    has_no_owner_left(slab) ? inherit_and_release(heap, slab, p) : hand_over(heap, slab, p);
  }
}

ACRE_COLD void tell_and_release(Heap& heap, Slab* slab, void* p) {
  hooks::freeing(p);
  release_told(heap, slab, p);
}

namespace {

// For a thread without a heap. A thread that has never allocated gets a heap now: it may be a thread that only frees
// blocks of others, and without an outbox each block would cost an atomic operation.
ACRE_NOINLINE void release_uninitialized(Slab* slab, void* p) {
  if (t_heap == &kUninitializedHeap && registry::initialize_thread() != nullptr) return release_elsewhere(slab, p);
  release_without_heap(slab, p);
}

// For a thread without a heap, or whose heap is observed. All calls are last but those to functions of the program.
ACRE_APART void release_unusual(Slab* slab, void* p) {
  HotHeap* hot = t_heap;
  if (hot->kind == HeapKind::kNone) return release_uninitialized(slab, p);
  Heap& heap = *static_cast<Heap*>(hot);
  if (ACRE_LIKELY(relaxed_load(hooks::g_on) == hooks::kRecorded)) return record::freeing_of_run(heap, slab, p);
  tell_and_release(heap, slab, p);
}

ACRE_COLD void release_by_outbox(Heap& heap, Slab* slab, void* p) {
  if (relaxed_load(slab->last_owner) == heap.lives.current()) {
    return adopt_and_release(heap, slab, p);
  }
  hand_over(heap, slab, p);
}

// A block on a purged page has lost its mark: only here a second free of it is found.
ACRE_COLD void release_manual_or_checked(Slab* slab, void* p) {
  if (is_manual(slab)) return release_manual(slab, p);
  if (slab::is_uncut(slab, p)) misuse::double_free("free", p, slab->block_bytes);
  HotHeap* hot = t_heap;
  if (hot->kind != HeapKind::kUsual) return release_unusual(slab, p);
  Heap& heap = *static_cast<Heap*>(hot);
  if (!is_shared_class(slab->size_class)) return release_by_outbox(heap, slab, p);
  give_back_shared(heap, slab, p);
}

// For blocks that do not go to the outbox, and for threads without a usual heap. Shared classes come last: they need no call.
ACRE_NOINLINE void release_otherwise(Slab* slab, void* p) {
  if (ACRE_UNLIKELY(relaxed_load(slab->free_path) >= FreePath::kPurged)) return release_manual_or_checked(slab, p);
  HotHeap* hot = t_heap;
  if (ACRE_UNLIKELY(hot->kind != HeapKind::kUsual)) return release_unusual(slab, p);
  Heap& heap = *static_cast<Heap*>(hot);
  give_back_shared(heap, slab, p);
}

void release_in_slab(Slab* slab, void* p, const char* name) {
  if (is_marked(p) && misuse::is_free(slab, p)) misuse::double_free(name, p, slab->block_bytes);
  release_block(slab, p);
}

}  // namespace

// Most blocks go to the outbox. Their path makes no call, so that no registers have to be saved.
ACRE_NOINLINE void release_elsewhere(Slab* slab, void* p) {
  HotHeap* hot = t_heap;
  if (ACRE_UNLIKELY(relaxed_load(slab->free_path) != FreePath::kOutbox || hot->kind != HeapKind::kUsual)) return release_otherwise(slab, p);
  Heap& heap = *static_cast<Heap*>(hot);
  if (relaxed_load(slab->last_owner) == heap.lives.current()) {
    return adopt_and_release(heap, slab, p);
  }
  if (ACRE_UNLIKELY(has_no_owner_left(slab))) return inherit_and_release(heap, slab, p);
  const bool done = OwnerAtWork::enter_quickly(heap) && heap.outbox().add_quickly(slab, p);
  OwnerAtWork::leave(heap);
  if (!done) hand_over(heap, slab, p);
}

// The observer of the free takes the note back (record/record.cc). A thread's first call may be this free.
ACRE_APART static void note_sized_free() {
  if (relaxed_load(hooks::g_on) != hooks::kRecorded) return;
  if (t_heap == &kUninitializedHeap) registry::initialize_thread();
  if (Heap* heap = heap_if_any()) heap->call.kind = CallKind::kSized;
}

ACRE_APART static void note_and_release(Slab* slab, void* p) {
  note_sized_free();
  release_elsewhere(slab, p);
}

ACRE_NOINLINE void release_elsewhere_sized(Slab* slab, void* p) {
  t_heap->kind == HeapKind::kUsual ? release_elsewhere(slab, p) : note_and_release(slab, p);
}

ACRE_APART void note_sized(const void* p) {
  const Found found = find_block(p);
  if (found.slab != nullptr || found.run != nullptr) note_sized_free();
}

// Tests for the most frequent case first: a block past the first unit of a run of several units. rest(p) handles
// pointers that are neither null nor blocks of slab runs nor large blocks.
template <class Rest>
ACRE_ALWAYS_INLINE static void release_slow_by(void* p, const char* name, Rest rest) {
  if (p == nullptr) return;
  Run* run = g_page_map.find(p);
  if (run != nullptr) {
    if (run->kind == RunKind::kSlab && is_block_start(run->slab, p)) return release_in_slab(run->slab, p, name);
    const bool is_large = run->kind == RunKind::kLarge || run->kind == RunKind::kHuge;
    if (is_large && run->base == address_of(p)) return large::free(run);
  }
  rest(p);
}

// Frees p if it is a block: a sampled one, of those that get here. Returns false if p is no block.
ACRE_COLD static bool release_by_search(void* p, const char* name) {
  const Found found = find_block(p);
  if (found.slab != nullptr) {
    release_in_slab(found.slab, p, name);
  } else if (found.run == nullptr) {
    return false;
  } else {
    is_sampled(found) ? sampler::release(found.run->sampled, p, name) : large::free(found.run);
  }
  return true;
}

// free reaches this function by jumps alone, so that the return address is the program's. In a build with calls
// instead, it is acre's own, and the message leaves it out.
ACRE_COLD static void release_rest(void* p, const char* name) {
  const void* caller = __builtin_return_address(0);
  const KnownCaller known(heap_if_any(), caller);
  if (!release_by_search(p, name)) misuse::not_a_block(name, p, caller);
}

// slab: the table's header for p. Whether p is a block of that run, in an automatic arena.
ACRE_ALWAYS_INLINE static bool is_usual(const Slab* slab, const void* p) {
  return ACRE_LIKELY(is_block_start(slab, p) && !is_manual(slab));
}

ACRE_COLD static void release_any_hardened(void* p, const char* name) {
  if (hardened::release(p, name, Kind::kMalloc)) return;
  release_slow_by(p, name, [=](void* block) { release_rest(block, name); });
}

ACRE_APART static void release_hardened(void* p, const char* name) {
  Slab* slab = unit_table::header_at(p);
  is_usual(slab, p) ? hardened::release_small(slab, p, name, Kind::kMalloc) : release_any_hardened(p, name);
}

ACRE_NOINLINE void release_slow(void* p, const char* name) {
  if (hardened::is_on()) return release_hardened(p, name);
  release_slow_by(p, name, [=](void* block) { release_rest(block, name); });
}

ACRE_COLD static void release_rest_or(void* p, const char* name, unsigned form, size_t alignment, Foreign* foreign) {
  const void* caller = __builtin_return_address(0);
  {
    const KnownCaller known(heap_if_any(), caller);
    if (release_by_search(p, name)) return;
  }
  if (!misuse::is_foreign(p)) misuse::not_a_block(name, p);
  foreign(p, form, alignment, caller);
}

// form: two forms for each kind, in the kinds' order (entry/operators.h).
ACRE_COLD static void release_hardened_or(void* p, const char* name, unsigned form, size_t alignment, Foreign* foreign) {
  const auto kind = static_cast<Kind>(static_cast<unsigned>(Kind::kNew) + form / 2);
  Slab* slab = unit_table::header_at(p);
  if (is_usual(slab, p)) return hardened::release_small(slab, p, name, kind);
  if (hardened::release(p, name, kind)) return;
  release_slow_by(p, name, [=](void* block) { release_rest_or(block, name, form, alignment, foreign); });
}

ACRE_NOINLINE void release_slow_or(void* p, const char* name, unsigned form, size_t alignment, Foreign* foreign) {
  if (hardened::is_on()) return release_hardened_or(p, name, form, alignment, foreign);
  release_slow_by(p, name, [=](void* block) { release_rest_or(block, name, form, alignment, foreign); });
}

}  // namespace acre
