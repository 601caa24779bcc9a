// free in the hardened mode, and the quarantine.
#include <string.h>

#include "cache/free.h"
#include "cache/misuse.h"
#include "cache/owner_at_work.h"
#include "cache/registry.h"
#include "hardened/checks.h"
#include "hardened/quarantine.h"
#include "hardened/zero_size.h"
#include "pages/metadata.h"
#include "pages/page_map.h"
#include "slab/purge.h"

namespace acre::hardened {

ACRE_COLD Quarantine* make_quarantine(Heap& heap) {
  void* memory = metadata::allocate(sizeof(Quarantine));
  if (memory == nullptr) return nullptr;
  auto* made = static_cast<Quarantine*>(memory);  // zeroed
  made->random().seed(new_seed());
  release_store(heap.quarantine, made);
  return made;
}

namespace {

// For a thread without a heap (null), and for runs for types with pointers: a list or an adopted run would hand their
// blocks to any type.
ACRE_COLD void release_at_once(Heap* heap, Slab* slab, void* p) {
  const SizeClass c = slab->size_class;
  slab::give_back(slab, p);
  if (heap == nullptr) return;
  {
    const OwnerAtWork busy(*heap);  // reclaimers write the same count
    ++heap->use(c).blocks.freed;
  }
  hooks::tick_after_free(*heap);
}

ACRE_APART void release_in_other_run(Heap& heap, Slab* slab, void* p) {
  if (arena_of(slab)->is_of_pointers) return release_at_once(&heap, slab, p);
  if (!put_on_list(slab, p)) release_told(heap, slab, p);
}

ACRE_ALWAYS_INLINE void release_now(Heap& heap, Slab* slab, void* p) {
  if (ACRE_UNLIKELY(relaxed_load(slab->owner) != heap.token)) return release_in_other_run(heap, slab, p);
  if (ACRE_LIKELY(put_on_list(slab, p))) return;
  slab::defer(slab, p);
  if (ACRE_UNLIKELY(slab->countdown == 0)) release_event(slab);
}

// A block in quarantine has its mark, and the link of a list's end. The rest of it is checked when malloc takes it.
ACRE_ALWAYS_INLINE void release_to_run(Heap& heap, const Waiting& waiting) {
  if (waiting.block == nullptr) return;
  const Link* link = link_of(waiting.block);
  if (ACRE_UNLIKELY(!is_marked(link) || link->next() != nullptr)) {
    written_after_free(waiting.block, waiting.slab->block_bytes);
  }
  release_now(heap, waiting.slab, waiting.block);
}

ACRE_ALWAYS_INLINE void wipe(void* block, size_t bytes) {
  relaxed_store(tail_word(block, bytes), uint64_t{0});
  memset(block, 0, bytes - kTailBytes);
}

bool is_free_already(Slab* slab, const void* p) {
  if (is_marked(p)) return misuse::is_free(slab, p);
  return ACRE_UNLIKELY(slab::has_purged(slab)) && slab::is_uncut(slab, p);
}

// Puts a block, which is zero, into the quarantine.
ACRE_NOINLINE void put_aside(Heap& heap, Slab* slab, void* p) {
  write_link(p, nullptr);
  release_to_run(heap, heap.quarantine->exchange(slab, p));
}

ACRE_NOINLINE void release_unusual(Slab* slab, void* p, const char* caller, Kind kind) {
  const size_t bytes = slab->block_bytes;
  if (ACRE_UNLIKELY(is_free_already(slab, p))) misuse::double_free(caller, p, bytes);
  const Tail tail = checked_tail(p, bytes, caller);
  check_kind(caller, p, tail.kind, kind);
  check_before(slab, p, caller);
  if (ACRE_UNLIKELY(t_heap == &kUninitializedHeap)) registry::initialize_thread();  // a thread that only frees
  Heap* heap = heap_if_any();
  if (hooks::are_told()) hooks::freeing(p);
  wipe(p, bytes);
  if (ACRE_UNLIKELY(heap == nullptr)) return release_at_once(nullptr, slab, p);
  quarantine_of(*heap) != nullptr ? put_aside(*heap, slab, p) : release_now(*heap, slab, p);
}

// Zeroes are written without a call up to this size.
constexpr size_t kWipedInPlace = 512;

// Whether no check of release_unusual() would find anything, as far as is seen at once.
ACRE_ALWAYS_INLINE bool is_sound(const Slab* slab, void* p, Kind kind) {
  const size_t bytes = slab->block_bytes;
  if (is_marked(p) || slab::has_purged(slab)) return false;
  const Tail tail = read_tail(p, bytes);
  if (!tail.is_whole || tail.kind != kind) return false;
  return is_slack_zero(p, size_in(tail, bytes), bytes - kTailBytes) && is_tail_before_whole(slab, p);
}

}  // namespace

// The usual case has no call but the last, so that no register is saved.
void release_small(Slab* slab, void* p, const char* caller, Kind kind) {
  const size_t bytes = slab->block_bytes;
  const bool is_short = bytes <= kWipedInPlace && !hooks::are_told();
  if (ACRE_UNLIKELY(!is_short || !is_sound(slab, p, kind))) return release_unusual(slab, p, caller, kind);
  HotHeap* hot = t_heap;
  const bool has_quarantine = hot->kind != HeapKind::kNone && static_cast<Heap*>(hot)->quarantine != nullptr;
  if (ACRE_UNLIKELY(!has_quarantine)) return release_unusual(slab, p, caller, kind);
  wipe_short(p, bytes);
  put_aside(*static_cast<Heap*>(hot), slab, p);
}

namespace {

ACRE_COLD void release_sampled(SampledRun* run, void* p, const char* caller, Kind kind) {
  if (!sampled_runs::is_live(run, p)) misuse::double_free(caller, p, run->block_bytes);
  const Tail tail = checked_tail(p, run->block_bytes, caller);
  check_kind(caller, p, tail.kind, kind);
  wipe(p, run->block_bytes);
  sampler::release(run, p, caller);
}

}  // namespace

ACRE_COLD bool release(void* p, const char* caller, Kind kind) {
  if (p == nullptr) return true;
  const Found found = find_block(p);
  if (is_protected(found)) {
    found.slab != nullptr ? release_small(found.slab, p, caller, kind)
                          : release_sampled(found.run->sampled, p, caller, kind);
    return true;
  }
  if (zero_size::contains(p)) {
    hooks::freeing(p);
    if (!zero_size::free(p)) misuse::double_free(caller, p, 0);
    return true;
  }
  check_may_free_large(found, p, caller, kind);
  return false;
}

ACRE_COLD void empty_quarantine(Heap& heap) {
  Quarantine* quarantine = heap.quarantine;
  if (quarantine == nullptr) return;
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    for (Waiting block; (block = quarantine->take(c)).block != nullptr;) release_to_run(heap, block);
  }
}

bool holds(const Heap& heap, const void* block) {
  const Quarantine* quarantine = racy_load(heap.quarantine);
  bool found = false;
  if (quarantine != nullptr) quarantine->for_each([&](const Slab*, const void* waiting) { found |= waiting == block; });
  return found;
}

void for_each_waiting(const Heap& heap, void (*visit)(const Slab* slab, void* argument), void* argument) {
  const Quarantine* quarantine = racy_load(heap.quarantine);
  if (quarantine != nullptr) quarantine->for_each([&](const Slab* slab, const void*) { visit(slab, argument); });
}

}  // namespace acre::hardened
