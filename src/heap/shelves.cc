#include "heap/current.h"
#include "heap/free.h"
#include "heap/idle.h"
#include "heap/lookup.h"
#include "heap/registry.h"
#include "slab/reclaim.h"
#include "tables/options.h"

namespace acre {

namespace {

// Heaps take their part of the shared bound in these steps.
constexpr size_t kAllowanceStep = (size_t{256} << 10) / kPageBytes;

constexpr unsigned kClassesPerStep = 2;
constexpr unsigned kAdoptedPerStep = 4;

// Of a current run in which at most so many blocks are out, they are counted.
constexpr uint32_t kMostLookedAt = 64;

// New runs on clean pages for each search for runs in which nothing lives: a thread that uses many classes in turn is not
// to make a run for each block, out of the last one's.
constexpr uint32_t kRunsPerSearch = 8;

// Adopted runs that are looked at before a new one is made.
constexpr unsigned kMostAdoptedSeen = 64;

constinit std::atomic<size_t> g_handed_out{0};  // pages of allowance that heaps have

// The bound that follows the memory in use. To adapt it takes a walk over the arenas, and so is done when it has
// refused a number of times.
constexpr size_t kLeastBound = (size_t{64} << 20) / kPageBytes;
constexpr uint32_t kRefusalsPerLook = 64;
constinit std::atomic<size_t> g_automatic_bound{kLeastBound};
constinit std::atomic<uint32_t> g_refusals{0};

size_t shared_bound() {
  const int64_t chosen = relaxed_load(options().thread_cache_max);
  return chosen >= 0 ? static_cast<size_t>(chosen) / kPageBytes : g_automatic_bound.load(std::memory_order_relaxed);
}

// Nobody else could use what a lone thread keeps.
void adapt_bound() {
  const size_t part = registry::live_heaps() == 1 ? 1 : 4;
  g_automatic_bound.store(larger(kLeastBound, arenas::used_pages() / part), std::memory_order_relaxed);
}

void on_refusal() {
  if (g_refusals.fetch_add(1, std::memory_order_relaxed) % kRefusalsPerLook == 0) adapt_bound();
}

bool extend_allowance(Heap& heap) {
  size_t handed_out = g_handed_out.load(std::memory_order_relaxed);
  do {
    if (handed_out + kAllowanceStep > shared_bound()) {
      on_refusal();
      return false;
    }
  } while (!g_handed_out.compare_exchange_weak(handed_out, handed_out + kAllowanceStep));
  heap.allowed_pages += kAllowanceStep;
  return true;
}

void trim_allowance(Heap& heap) {
  while (heap.allowed_pages >= heap.kept_pages + 2 * kAllowanceStep) {
    heap.allowed_pages -= kAllowanceStep;
    g_handed_out.fetch_sub(kAllowanceStep);
  }
}

void put_available(Heap& heap, Slab* slab) {
  slab::set_list(slab, OwnersList::kAvailable);
  slab::watch(slab, slab::used(slab), 0);
  Shelves& shelves = heap.use(slab->size_class).shelves;
  shelves.available.add(slab);
  ++shelves.available_count;
}

// All but the count of runs whose blocks are all free.
ACRE_ALWAYS_INLINE void take_off_available(Heap& heap, Shelves& shelves, Slab* slab) {
  shelves.available.remove(slab);
  shelves.low_water = smaller(shelves.low_water, --shelves.available_count);
  heap.kept_pages -= slab->pages;
}

void take_off_shelf(Heap& heap, Slab* slab) {
  if (slab->list == OwnersList::kAvailable) {
    take_off_available(heap, heap.use(slab->size_class).shelves, slab);
  } else {
    heap.adopted.remove(slab);
    heap.kept_pages -= slab->pages;
  }
}

// A run that the heap gives up goes with the blocks that the thread has freed in it.
void count_freed(Heap& heap, const Slab* slab) {
  heap.use(slab->size_class).blocks.freed += slab::deferred_count(slab);
}

void take_off(Heap& heap, Slab* slab) {
  if (slab->list == OwnersList::kAvailable && slab::used(slab) == 0) --heap.use(slab->size_class).shelves.empties;
  take_off_shelf(heap, slab);
  slab::set_list(slab, OwnersList::kNone);
}

void give_up(Heap& heap, Slab* slab) {
  take_off(heap, slab);
  count_freed(heap, slab);
  slab::release(slab);
}

// Pages that a heap may keep: its part of the shared bound, and more where the option gives each thread so much.
size_t may_keep(const Heap& heap) {
  return larger(heap.allowed_pages, static_cast<size_t>(relaxed_load(options().thread_cache_min)) / kPageBytes);
}

// The run that can be spared most: an adopted one, which has little to give, before an available one.
void keep_within_allowance(Heap& heap, SizeClass c) {
  while (heap.kept_pages > may_keep(heap) && !extend_allowance(heap)) {
    Slab* victim = heap.adopted.oldest();
    if (victim == nullptr) victim = heap.use(c).shelves.available.oldest();
    if (victim == nullptr) return;  // other classes' runs: collection sees to them
    give_up(heap, victim);
  }
}

// All blocks of an available run have come back. A few such runs are kept, so that a program that frees and
// allocates at the edge of a run does not make and destroy it each time.
ACRE_ALWAYS_INLINE void on_empty(Heap& heap, Slab* slab) {
  Shelves& shelves = heap.use(slab->size_class).shelves;
  if (shelves.empties++ <= shelves.keep_more) return;
  take_off(heap, slab);
  count_freed(heap, slab);
  slab::free_pages(slab);
  shelves.returned = true;
}

// The countdown of an adopted or available run has reached zero.
ACRE_ALWAYS_INLINE void on_countdown(Heap& heap, Slab* slab) {
  if (slab->list == OwnersList::kAdopted) {
    heap.adopted.remove(slab);
    put_available(heap, slab);
    if (slab::used(slab) != 0) return;
  }
  on_empty(heap, slab);
}

void collect_class(Heap& heap, SizeClass c) {
  Shelves& shelves = heap.use(c).shelves;
  current::settle(heap, c);
  if (shelves.busy) {
    shelves.busy = false;
    // What was never needed since the last time is more than this thread needs.
    for (unsigned spare = (shelves.low_water + 1u) / 2; spare != 0; --spare) give_up(heap, shelves.available.oldest());
    shelves.low_water = shelves.available_count;
    return;
  }
  if (!heap.use(c).is_used()) return;
  retire_current(heap, c);
  while (!shelves.available.empty()) give_up(heap, shelves.available.oldest());
  shelves.keep_more = 0;
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

void shelve_adopted(Heap& heap, Slab* slab) {
  BlockCounts& blocks = heap.use(slab->size_class).blocks;
  relaxed_add(blocks.adoptions, uint64_t{1});
  const uint32_t used = slab::used(slab);
  // All but the block that the thread has freed just now were freed before it owned the run.
  blocks.freed -= slab->carved - used - 1;
  heap.kept_pages += slab->pages;
  slab::set_list(slab, OwnersList::kAdopted);
  heap.adopted.add(slab);
  // The event comes when `enough` blocks are free, those on the remote list included.
  int32_t floor = static_cast<int32_t>(slab->capacity - slab->enough + load_remote(slab).free);
  slab::watch(slab, used, floor);
  if (slab->countdown <= 0) on_countdown(heap, slab);
  if (heap.kept_pages > heap.allowed_pages) keep_within_allowance(heap, slab->size_class);
}

// A thread without a heap owns no run: this one is of a thread that a fork left behind, whose token this thread
// has got (registry.cc). A visitor may have taken it between the free and here, and others use its header (idle.h).
ACRE_NOINLINE void release_event(Slab* slab) {
  Heap* heap = heap_if_any();
  if (heap == nullptr) return slab::disown(slab);
  if (slab->list == OwnersList::kCurrent) return current::on_countdown(*heap, slab->size_class);
  const BusyAtShelves busy(*heap);
  if (ACRE_LIKELY(relaxed_load(slab->owner) == heap->token)) on_countdown(*heap, slab);
}

Slab* take_available(Heap& heap, SizeClass c) {
  Shelves& shelves = heap.use(c).shelves;
  Slab* slab = shelves.available.newest();
  if (slab == nullptr) return nullptr;
  if (slab::used(slab) == 0) --shelves.empties;
  take_off_available(heap, shelves, slab);
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

// A list with blocks of other runs than the current one, if there is one: each of these goes where it would if it were freed by a
// thread without a heap.
static void return_mixed_list(Heap& heap, SizeClass c, Slab* current, LowAddress head) {
  const Address high = heap.slots[c].high;
  for (LowAddress next; !is_end(head); head = next) {
    Link* link = reinterpret_cast<Link*>(high | head);
    Slab* slab = find_block(link).slab;
    if (slab == nullptr || !is_marked(slab, link)) overwritten_list();
    next = link->next;
    --heap.use(c).blocks.listed;
    if (slab == current) {
      --heap.use(c).blocks.freed;  // it is, already
      slab::defer(slab, link);
    } else {
      slab::give_back(slab, link);
    }
  }
}

void put_back(Heap& heap, Slab* current, LowAddress list) {
  const uint32_t blocks = slab::return_list(current, list);
  heap.use(current->size_class).blocks.listed -= blocks;
  heap.use(current->size_class).blocks.freed -= blocks;  // they are deferred now, and were not freed
}

void retire_current(Heap& heap, SizeClass c) {
  Slot& slot = heap.slots[c];
  Shelves& shelves = heap.use(c).shelves;
  current::close(heap, c);
  Slab* slab = shelves.current;
  const LowAddress head = slot.head;
  slot.head = kEndOfList;
  slot.length = 0;
  shelves.times_few = 0;
  shelves.unseen = kNotDrawn;  // whether the blocks given up were to be the next ones is not known any more
  shelves.current = nullptr;
  if (slab == nullptr || shelves.kept_blocks != 0) {
    shelves.kept_blocks = 0;
    return_mixed_list(heap, c, slab, head);
  } else if (!is_end(head)) {
    put_back(heap, slab, head);
  }
  if (slab == nullptr) return;
  count_freed(heap, slab);
  slab::release(slab);
}

// Does nothing live in this current run? Where many of its blocks are out, some live as a rule, and it is not looked at.
static bool is_unused(Heap& heap, SizeClass c) {
  current::settle(heap, c);
  const Slab* slab = heap.use(c).shelves.current;
  const uint32_t out = slab::used(slab);
  if (out > kMostLookedAt || heap.use(c).shelves.kept_blocks != 0) return false;
  uint32_t listed = 0;
  for (LowAddress low = heap.slots[c].head; !is_end(low); low = link_at(slab, low)->next) ++listed;
  return listed + load_remote(slab).free == out;
}

// Among the live heaps. Others may come and go meanwhile.
static bool is_alone(const Heap& heap) { return racy_load(heap.next) == nullptr && racy_load(heap.prev) == nullptr; }

bool give_up_unused(Heap& heap) {
  if (!is_alone(heap)) idle::look_while_growing(heap);
  if (++heap.grown_by % kRunsPerSearch != 0) return false;
  bool some = false;
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    Shelves& shelves = heap.use(c).shelves;
    if (shelves.current != nullptr && is_unused(heap, c)) {
      retire_current(heap, c);
      some = true;
    }
    for (Slab *slab = shelves.available.newest(), *next; shelves.empties != 0 && slab != nullptr; slab = next) {
      next = slab->node.next;
      if (slab::used(slab) != 0) continue;
      give_up(heap, slab);
      some = true;
    }
  }
  return some;
}

void collect_step(Heap& heap) {
  const BusyAtShelves busy(heap);
  heap.outbox().flush();
  unshare_runs(heap);
  for (unsigned i = 0; i < kClassesPerStep; ++i) {
    collect_class(heap, heap.next_to_collect);
    heap.next_to_collect = (heap.next_to_collect + 1) % kSmallClasses;
  }
  for (unsigned i = 0; i < kAdoptedPerStep && !heap.adopted.empty(); ++i) {
    Slab* slab = heap.adopted.oldest();
    if (load_remote(slab).free >= slab->enough) {  // others have freed so much in it
      give_up(heap, slab);
    } else {  // its turn comes again after all others
      heap.adopted.remove(slab);
      heap.adopted.add(slab);
    }
  }
  trim_allowance(heap);
}

void empty_heap(Heap& heap) {
  const BusyAtShelves busy(heap);
  heap.outbox().flush();
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    if (!heap.use(c).is_used()) continue;
    retire_current(heap, c);
    while (!heap.use(c).shelves.available.empty()) give_up(heap, heap.use(c).shelves.available.oldest());
  }
  while (!heap.adopted.empty()) give_up(heap, heap.adopted.oldest());
  unshare_runs(heap);
  g_handed_out.fetch_sub(heap.allowed_pages);
  heap.allowed_pages = 0;
}

static void unshare(Heap& heap, Slab* slab) {
  uint64_t& freed = heap.use(slab->size_class).blocks.freed;  // read now: afterwards the run may be gone
  freed += slab::unshare(slab);
}

// More or less, while the owner and others free in it.
static bool is_to_be_taken(const Slab* slab, Take take) {
  const auto used = static_cast<uint32_t>(acquire_load(slab->countdown) + slab->floor);
  const uint32_t free = slab->capacity - used + load_remote(slab).free;
  return 4 * free >= static_cast<uint32_t>(take) * slab->capacity;
}

static void take_kept_runs_of(Heap& heap, RunList& list, Take take) {
  for (Slab *slab = list.newest(), *next; slab != nullptr; slab = next) {
    next = slab->node.next;
    if (!is_to_be_taken(slab, take)) continue;
    if (slab::is_all_free(slab)) {
      take_off_shelf(heap, slab);
      count_freed(heap, slab);
      slab::free_pages(slab);
    } else if (const LowAddress hostage = slab::find_hostage(slab); !is_end(hostage)) {
      take_off_shelf(heap, slab);
      heap.use(slab->size_class).blocks.freed += slab::share(slab, hostage);
      slab->next = heap.shared;
      heap.shared = slab;
    }
  }
}

void take_kept_runs(Heap& heap, Take take) {
  if (heap.kept_pages != 0) {
    take_kept_runs_of(heap, heap.adopted, take);
    for (ClassUse& use : heap.cold().uses) {
      take_kept_runs_of(heap, use.shelves.available, take);
      if (use.shelves.empties != 0) use.shelves.empties = 0;  // what was all free is gone, counted (on_empty) or not yet
    }
    trim_allowance(heap);
  }
  for (Slab** at = &heap.shared; Slab* slab = *at;) {
    if (slab::is_free_but_for_hostage(slab)) {
      *at = slab->next;
      unshare(heap, slab);
    } else {
      at = &slab->next;
    }
  }
}

void unshare_runs(Heap& heap) {
  while (Slab* slab = heap.shared) {
    heap.shared = slab->next;
    unshare(heap, slab);
  }
}

size_t shared_allowance() { return shared_bound() * kPageBytes; }

size_t shared_allowance_left() {
  size_t handed_out = g_handed_out.load(std::memory_order_relaxed);
  return (shared_bound() - smaller(handed_out, shared_bound())) * kPageBytes;
}

void reset_shared_allowance(size_t pages) { g_handed_out.store(pages); }

}  // namespace acre
