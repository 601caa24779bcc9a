#include "cache/allowance.h"
#include "cache/free.h"
#include "cache/lookup.h"
#include "cache/owner_at_work.h"
#include "cache/private_list.h"
#include "cache/registry.h"
#include "cache/run_lists.h"
#include "cache/upcalls.h"
#include "tables/options.h"

namespace acre {

namespace {

constexpr unsigned kClassesPerStep = 2;
constexpr unsigned kAdoptedPerStep = 4;

// is_unused() counts the blocks of a current run if at most this many are used.
constexpr uint32_t kMostLookedAt = 64;

// New runs on clean pages for each search for runs without live blocks. A search for each new run would let a thread
// that uses many classes in turn make a run for each block, out of the last block's run.
constexpr uint32_t kRunsPerSearch = 8;

// Adopted runs that take_adopted() looks at, before a new run is made.
constexpr unsigned kMostAdoptedSeen = 64;

void put_available(Heap& heap, Slab* slab) {
  slab::set_list(slab, OwnersList::kAvailable);
  slab::count_down(slab, slab::used(slab), 0);
  RunLists& lists = heap.use(slab->size_class).lists;
  lists.available.add(slab);
  ++lists.available_count;
}

void take_off(Heap& heap, Slab* slab) {
  if (slab->list == OwnersList::kAvailable && slab::used(slab) == 0) one_empty_less(heap.use(slab->size_class).lists);
  take_off_list(heap, slab);
  slab::set_list(slab, OwnersList::kNone);
}

void give_up(Heap& heap, Slab* slab) {
  take_off(heap, slab);
  count_freed(heap, slab);
  slab::release(slab);
}

// Pages that a heap may keep: its part of the shared bound, or what the option thread_cache_min gives each thread.
size_t may_keep(const Heap& heap) {
  return larger(heap.allowed_pages, static_cast<size_t>(relaxed_load(options().thread_cache_min)) / kPageBytes);
}

// Gives up the runs that can be spared best: adopted runs, which have little to give, before available ones.
void keep_within_allowance(Heap& heap, SizeClass c) {
  while (heap.kept_pages > may_keep(heap) && !extend_allowance(heap)) {
    Slab* victim = heap.adopted.oldest();
    if (victim == nullptr) victim = heap.use(c).lists.available.oldest();
    if (victim == nullptr) return;  // only other classes have runs: collection gives them up
    give_up(heap, victim);
  }
}

// Called when all blocks of an available run are free. A few such runs are kept, so that a program that frees and
// allocates at the edge of a run does not make and destroy a run each time.
ACRE_ALWAYS_INLINE void on_empty(Heap& heap, Slab* slab) {
  RunLists& lists = heap.use(slab->size_class).lists;
  if (lists.empties++ <= lists.keep_more) return;
  take_off(heap, slab);
  count_freed(heap, slab);
  slab::free_pages(slab);
  lists.returned = true;
}

// Called when the countdown of an adopted or available run has reached zero.
ACRE_ALWAYS_INLINE void on_countdown(Heap& heap, Slab* slab) {
  if (slab->list == OwnersList::kAdopted) {
    heap.adopted.remove(slab);
    put_available(heap, slab);
    if (slab::used(slab) != 0) return;
  }
  on_empty(heap, slab);
}

void collect_class(Heap& heap, SizeClass c) {
  RunLists& lists = heap.use(c).lists;
  private_list::count(heap, c);
  if (lists.busy) {
    lists.busy = false;
    // Gives up half of the runs that were never needed since the last collection.
    for (unsigned spare = (lists.low_water + 1u) / 2; spare != 0; --spare) give_up(heap, lists.available.oldest());
    lists.low_water = lists.available_count;
    return;
  }
  if (!heap.use(c).is_used()) return;
  retire_current(heap, c);
  while (!lists.available.empty()) give_up(heap, lists.available.oldest());
  lists.keep_more = 0;
}

}  // namespace

void RunList::add(Slab* slab) {
  slab->node.prev = nullptr;
  slab->node.next = newest_;
  (newest_ == nullptr ? oldest_ : newest_->node.prev) = slab;
  newest_ = slab;
}

void RunList::remove(Slab* slab) {
  (slab->node.prev == nullptr ? newest_ : slab->node.prev->node.next) = slab->node.next;
  (slab->node.next == nullptr ? oldest_ : slab->node.next->node.prev) = slab->node.prev;
}

void keep_adopted(Heap& heap, Slab* slab) {
  BlockCounts& blocks = heap.use(slab->size_class).blocks;
  relaxed_add(blocks.adoptions, uint64_t{1});
  const uint32_t used = slab::used(slab);
  // All blocks but the one that the thread has just freed were freed before it owned the run.
  blocks.freed -= slab->carved - used - 1;
  heap.kept_pages += slab->pages;
  slab::set_list(slab, OwnersList::kAdopted);
  heap.adopted.add(slab);
  // The countdown reaches zero when `enough` blocks are free, those on the remote list included.
  int32_t floor = static_cast<int32_t>(slab->capacity - slab->enough + load_remote(slab).free);
  slab::count_down(slab, used, floor);
  if (slab->countdown <= 0) on_countdown(heap, slab);
  if (heap.kept_pages > heap.allowed_pages) keep_within_allowance(heap, slab->size_class);
}

// A thread without a heap owns no run: this one is of a thread that a fork left behind, whose token this thread has got
// (registry.cc). A reclaimer may have taken it between the free and here, and others may use its header (idle.h).
ACRE_NOINLINE void release_event(Slab* slab) {
  Heap* heap = heap_if_any();
  if (heap == nullptr) return slab::disown(slab);
  const OwnerAtWork busy(*heap);
  if (ACRE_LIKELY(relaxed_load(slab->owner) == heap->token)) on_countdown(*heap, slab);
}

Slab* take_available(Heap& heap, SizeClass c) {
  RunLists& lists = heap.use(c).lists;
  Slab* slab = lists.available.newest();
  if (slab == nullptr) return nullptr;
  if (slab::used(slab) == 0) one_empty_less(lists);
  take_off_available(heap, lists, slab);
  return slab;
}

Slab* take_adopted(Heap& heap, SizeClass c) {
  unsigned left = kMostAdoptedSeen;
  for (Slab* slab = heap.adopted.oldest(); slab != nullptr && left != 0; slab = slab->node.prev, --left) {
    if (slab->size_class != c || slab::deferred_count(slab) + load_remote(slab).free < slab->enough) continue;
    take_off(heap, slab);
    return slab;
  }
  return nullptr;
}

// Returns the blocks of the private list to their runs, the current run, if there is one, among them. A block of
// another run goes where a thread without a heap would give it back.
static void return_list(Heap& heap, SizeClass c, Slab* current, Link* head) {
  for (Link *link = head, *next; link != nullptr; link = next) {
    Slab* slab = find_block(link).slab;
    if (slab == nullptr || slab->size_class != c || !is_marked(link)) overwritten_list();
    next = link->next();
    --heap.use(c).blocks.listed;
    if (slab == current) {
      --heap.use(c).blocks.freed;  // count_freed() will count it, although the thread has not freed it
      slab::defer(slab, link);
    } else {
      slab::give_back(slab, link);
    }
  }
}

void retire_current(Heap& heap, SizeClass c) {
  RunLists& lists = heap.use(c).lists;
  Link* const head = private_list::take_all(heap, c);
  Slab* slab = lists.current;
  lists.times_few = 0;
  lists.unseen = kNotDrawn;  // the next sampled block may have been among the blocks given up
  lists.current = nullptr;
  return_list(heap, c, slab, head);
  if (slab == nullptr) return;
  count_freed(heap, slab);
  slab::release(slab);
}

// Whether no block of this current run is live. If many blocks are used, some are live as a rule: they are not counted.
static bool is_unused(Heap& heap, SizeClass c) {
  private_list::count(heap, c);
  const Slab* slab = heap.use(c).lists.current;
  const uint32_t out = slab::used(slab);
  if (out > kMostLookedAt) return false;
  uint32_t listed = 0;
  for (Link* link = heap.slots[c].head; link != nullptr; link = link->next()) listed += is_block_start(slab, link);
  return listed + load_remote(slab).free == out;
}

// Whether this is the only live heap. Other heaps may come and go meanwhile.
static bool is_alone(const Heap& heap) { return racy_load(heap.next) == nullptr && racy_load(heap.prev) == nullptr; }

bool give_up_unused(Heap& heap) {
  if (!is_alone(heap)) reclaim_while_growing(heap);
  if (++heap.grown_by % kRunsPerSearch != 0) return false;
  bool some = false;
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    RunLists& lists = heap.use(c).lists;
    if (lists.current != nullptr && is_unused(heap, c)) {
      retire_current(heap, c);
      some = true;
    }
    for (Slab *slab = lists.available.newest(), *next; lists.empties != 0 && slab != nullptr; slab = next) {
      next = slab->node.next;
      if (slab::used(slab) != 0) continue;
      give_up(heap, slab);
      some = true;
    }
  }
  return some;
}

void collect_step(Heap& heap) {
  const OwnerAtWork busy(heap);
  heap.outbox().flush();
  unshare_runs(heap);
  for (unsigned i = 0; i < kClassesPerStep; ++i) {
    collect_class(heap, heap.next_to_collect);
    heap.next_to_collect = (heap.next_to_collect + 1) % kSmallClasses;
  }
  for (unsigned i = 0; i < kAdoptedPerStep && !heap.adopted.empty(); ++i) {
    Slab* slab = heap.adopted.oldest();
    if (load_remote(slab).free >= slab->enough) {  // others have freed much in it
      give_up(heap, slab);
    } else {  // it goes behind all others
      heap.adopted.remove(slab);
      heap.adopted.add(slab);
    }
  }
  trim_allowance(heap);
}

ACRE_APART void empty_heap(Heap& heap) {
  if (ACRE_UNLIKELY(heap.quarantine != nullptr)) hardened::empty_quarantine(heap);
  const OwnerAtWork busy(heap);
  heap.outbox().flush();
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    if (!heap.use(c).is_used()) continue;
    retire_current(heap, c);
    while (!heap.use(c).lists.available.empty()) give_up(heap, heap.use(c).lists.available.oldest());
  }
  while (!heap.adopted.empty()) give_up(heap, heap.adopted.oldest());
  unshare_runs(heap);
  give_up_allowance(heap);
}

}  // namespace acre
