#include "cache/malloc.h"
#include "cache/registry.h"
#include "cache/sampled_run.h"
#include "cache/upcalls.h"
#include "control/ctl.h"
#include "control/list_walk.h"
#include "control/sums.h"
#include "manual/binding.h"
#include "os/os.h"
#include "pages/huge.h"
#include "pages/metadata.h"
#include "pages/page_map.h"
#include "pages/window.h"
#include "slab/slab_use.h"

namespace acre {

namespace {

constexpr uint64_t kNsPerMs = 1000000;

// Sums of a walk over the page map and the heaps. At first `live` counts all blocks that are not known to be free.
struct Gathering {
  Report& report;
  unsigned automatic;  // number of automatic arenas at the start
  bool locks;          // figures of locks are wanted
  uint64_t purged = 0;
  uint64_t huge_rounding = 0;

  ArenaReport& of(const Arena& arena) const {
    const unsigned number = racy_load(arena.index);
    ArenaReport* own = number < report.numbers ? report.each[number] : nullptr;
    return own != nullptr ? *own : report.all;
  }
};

// Returns the arena that a run belongs to. Null: the arena does not count, like those of tests.
const Arena* find_arena(const PageHeap* home, unsigned automatic) {
  if (home == nullptr) return nullptr;
  const auto* arena = arena_with(home);
  if (home->keeps_chunks()) return arena;  // a manual one
  const unsigned index = racy_load(arena->index);
  return index < automatic && arenas::at(index) == arena ? arena : nullptr;
}

// --- Runs -----------------------------------------------------------------------------------------------------

uint64_t& runs_in(ClassStatistics& figures, RunState state) {
  switch (state) {
    case RunState::kFull: return figures.full;
    case RunState::kBinned: return figures.binned;
    case RunState::kSharedFull:
    case RunState::kSharedBinned: return figures.shared;
    default: return figures.owned;
  }
}

void add_slab(ArenaReport& to, const Run* run) {
  const Slab* slab = racy_load(run->slab);
  if (slab == nullptr || racy_load(slab->base) != racy_load(run->base)) return;
  const SlabUse use = use_of(slab);
  if (use.block_bytes == 0) return;
  ClassStatistics& figures = to.classes[use.size_class];
  ++figures.runs;
  ++runs_in(figures, use.state);
  to.arena.run_rest += size_t{run_shape(use.size_class).capacity - use.capacity} * use.block_bytes;
  figures.nonfull += use.free() != 0;
  figures.deferred += use.deferred;
  figures.remote_list += use.remote;
  figures.uncarved += use.uncarved;
  figures.free += use.unowned;
  figures.live += use.live;
}

// What lies beside the block on its pages counts as the end of a run.
void add_guarded(ArenaReport& to, const SampledRun* sampled, size_t page_bytes) {
  const size_t block_bytes = racy_load(sampled->block_bytes);
  if (racy_load(sampled->free) != 0 || block_bytes > page_bytes) return;
  ClassStatistics& figures = to.classes[racy_load(sampled->size_class)];
  ++figures.live;
  ++figures.allocated;
  to.guarded += page_bytes;
  to.arena.active += page_bytes;
  to.arena.run_rest += page_bytes - block_bytes;
}

void add_sampled(ArenaReport& to, const Run* run) {
  const SampledRun* sampled = racy_load(run->sampled);
  if (!sampled_runs::is_of(sampled, run)) return;
  if (racy_load(sampled->is_guarded)) return add_guarded(to, sampled, racy_load(run->pages) * kPageBytes);
  ClassStatistics& figures = to.classes[sampled->size_class];
  const uint32_t free = smaller(racy_load(sampled->free), sampled->capacity);
  ++figures.runs;
  ++figures.sampled;
  figures.free += free;
  figures.live += sampled->capacity - free;
  figures.allocated += sampled->capacity - free;
}

LengthStatistics& length_of(ArenaReport& report, size_t pages) {
  constexpr unsigned kLast = FreeRuns::kBins - 1;
  return report.lengths[pages > FreeRuns::most_pages(kLast) ? kLast : FreeRuns::bin_of(larger<size_t>(pages, 1))];
}

uint64_t rounding_of(const Run* run) {
  const size_t bytes = racy_load(run->pages) * kPageBytes;
  return bytes - smaller(racy_load(run->asked), bytes);
}

void add_large(ArenaReport& to, const Run* run) {
  const size_t pages = racy_load(run->pages);
  LengthStatistics& figures = length_of(to, pages);
  ++figures.large_blocks;
  figures.large += pages * kPageBytes;
  ++to.arena.large_blocks;
  to.arena.live_large += pages * kPageBytes;
  to.arena.rounding += rounding_of(run);
}

void add_free(ArenaReport& to, const Run* run) {
  const size_t pages = racy_load(run->pages);
  LengthStatistics& figures = length_of(to, pages);
  const auto count = [pages](uint64_t& runs, uint64_t& bytes) {
    ++runs;
    bytes += pages * kPageBytes;
  };
  switch (racy_load(run->holds)) {
    case Holds::kDirty: return count(figures.dirty_runs, figures.dirty);
    case Holds::kMuzzy: return count(figures.muzzy_runs, figures.muzzy);
    case Holds::kClean: return count(figures.clean_runs, figures.clean);
  }
}

void add_runs(Gathering& to) {
  g_page_map.for_each_run([&to](const Run* run) {
    if (racy_load(run->kind) == RunKind::kHuge) to.huge_rounding += rounding_of(run);
    const Arena* arena = find_arena(racy_load(run->home), to.automatic);
    if (arena == nullptr) return;
    ArenaReport& report = to.of(*arena);
    switch (racy_load(run->kind)) {
      case RunKind::kSlab: return add_slab(report, run);
      case RunKind::kSampled: return add_sampled(report, run);
      case RunKind::kFree: return add_free(report, run);
      case RunKind::kLarge: return add_large(report, run);
      default: return;
    }
  });
}

// --- Heaps ----------------------------------------------------------------------------------------------------

// Returns the list's length.
uint64_t add_private_list(const Gathering& to, const Heap& heap, SizeClass c) {
  const Slab* last = nullptr;
  ClassStatistics* figures = nullptr;  // of the arena of `last`
  return walk_private_list(heap, c, [&](const Slab* slab) {
    if (slab != last) {
      const Run* run = racy_load(slab->run);
      const Arena* arena = run == nullptr ? nullptr : find_arena(racy_load(run->home), to.automatic);
      if (arena == nullptr || racy_load(slab->size_class) != c) return false;
      figures = &to.of(*arena).classes[c];
      last = slab;
    }
    ++figures->private_list;
    return true;
  });
}

// Blocks that the owner has freed onto the private list since that was last counted. Below zero if it is counted now.
int64_t uncounted_frees(const Heap& heap, SizeClass c) {
  const RunLists& lists = heap.use(c).lists;
  const Slot& slot = heap.slots[c];
  return int64_t{racy_load(lists.left)} - racy_load(slot.left) + racy_load(lists.room) - racy_load(slot.room);
}

void add_waiting(const Gathering& to, const Slab* slab, uint32_t blocks) {
  const Run* run = racy_load(slab->run);
  const Arena* arena = run == nullptr ? nullptr : find_arena(racy_load(run->home), to.automatic);
  const SizeClass c = racy_load(slab->size_class);
  if (arena == nullptr || c >= kSmallClasses) return;
  to.of(*arena).classes[c].outbox += smaller<uint32_t>(blocks, run_shape(c).capacity);
}

// Blocks in quarantine wait, too.
void add_outbox(const Gathering& to, const Heap& heap) {
  heap.outbox().for_each_waiting([&to](const Slab* slab, uint32_t blocks) { add_waiting(to, slab, blocks); });
  if (!hardened::is_on()) return;
  const auto add = [](const Slab* slab, void* gathering) { add_waiting(*static_cast<Gathering*>(gathering), slab, 1); };
  hardened::for_each_waiting(heap, add, const_cast<Gathering*>(&to));
}

void add_events(ClassStatistics& to, const ClassEvents& events) {
  to.refills += events.refills;
  to.new_runs += events.new_runs;
  to.adoptions += events.adoptions;
  to.remote_frees += events.remote_frees;
  to.allocated += events.listed;
}

void add_heap(Heap& heap, void* argument) {
  const auto& to = *static_cast<Gathering*>(argument);
  ArenaReport& own = to.of(*heap.arena);
  const ManualArena* manual = binding::seen_of(heap);
  ArenaReport& bound_to = manual != nullptr ? to.of(manual->arena) : own;
  bound_to.arena.threads += !heap.arena->is_manual;  // the heaps of manual arenas belong to no thread
  own.arena.internal += Heap::kBytes;
  add_outbox(to, heap);
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    add_events(own.classes[c], registry::events_of(heap, c));
    own.classes[c].allocated += static_cast<uint64_t>(uncounted_frees(heap, c)) - add_private_list(to, heap, c);
  }
}

// Runs under the same lock as add_heap(), so that a thread's counts are neither missed nor added twice.
void add_ended(void* argument) {
  const auto& to = *static_cast<Gathering*>(argument);
  for (unsigned i = 0; i < to.automatic; ++i) {
    const Arena& arena = *arenas::at(i);
    for (SizeClass c = 0; c < kSmallClasses; ++c) add_events(to.of(arena).classes[c], arena.ended[c]);
  }
}

// --- Arenas ---------------------------------------------------------------------------------------------------

size_t bytes_of(const Arena& arena) {
  if (arena.is_manual) return align_up(sizeof(ManualArena), kCacheLine);
  return align_up(sizeof(Arena), kCacheLine) + Arena::kEndedBytes;
}

void add_arena(Gathering& to, Arena& arena, uint64_t now_ms) {
  ArenaReport& report = to.of(arena);
  const PageCounts counts = arena.pages.counts();
  add_pages(report.arena, counts);
  report.arena.base += bytes_of(arena);
  to.purged += counts.purged * kPageBytes;
  const uint64_t age_ms = now_ms - smaller(arena.made_ms, now_ms);
  report.arena.uptime = larger(report.arena.uptime, age_ms * kNsPerMs);
  if (!to.locks) return;
  add_lock(report.pages_lock, arena.pages.lock_counts());
  for (SizeClass c = 0; c < kSmallClasses; ++c) add_lock(report.bin_locks[c], arena.bin(c).lock_counts());
}

// Retired arenas have no number: they count only among all arenas.
void add_retired(Gathering& to) {
  const arenas::Retired& retired = arenas::retired();
  ArenaReport& all = to.report.all;
  add_purges(all.arena, retired.pages);
  to.purged += retired.pages.purged * kPageBytes;
  add_lock(all.pages_lock, retired.pages_lock);
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    add_events(all.classes[c], retired.events[c]);
    add_lock(all.bin_locks[c], retired.bin_locks[c]);
  }
}

}  // namespace

KernelFigures ask_kernel() { return {os::faults(), os::resident_bytes()}; }

void gather(Report& report, const KernelFigures* kernel) {
  Gathering to{report, arenas::count(), kernel != nullptr};
  report.numbers = smaller(arenas::numbers(), arenas::kMostNumbers);
  report.process = {};
  report.all = {};
  report.for_each([](unsigned, ArenaReport& arena) { arena = {}; });
  const uint64_t now_ms = os::now_ms();
  const arenas::Walk walk;  // no arena goes away while figures are added
  arenas::for_each([&](Arena& arena) { add_arena(to, arena, now_ms); });
  add_retired(to);
  add_runs(to);
  registry::for_each(add_heap, &to, add_ended);
  arenas::for_each_heap(add_heap, &to);
  finish_arena(report.all);  // of arenas without a place
  report.for_each([&](unsigned, ArenaReport& arena) {
    finish_arena(arena);
    add_report(report.all, arena);
  });
  report.process.purged = to.purged;
  finish_process(report.process, report.all, to.automatic, to.huge_rounding);
  add_huge(report.all.arena, report.process);
  if (kernel == nullptr) return;
  add_system(report.process, *kernel);
  add_locks(report.locks);
}

size_t count_large(size_t arena, size_t bytes) {
  size_t blocks = 0;
  const arenas::Walk walk;
  g_page_map.for_each_run([&](const Run* run) {
    const RunKind kind = racy_load(run->kind);
    if (racy_load(run->pages) != bytes >> kPageShift) return;
    if (kind == RunKind::kHuge) blocks += arena == ctl::kAllArenas;
    if (kind != RunKind::kLarge) return;
    const Arena* home = find_arena(racy_load(run->home), arenas::count());
    blocks += home != nullptr && (arena == ctl::kAllArenas || racy_load(home->index) == arena);
  });
  return blocks;
}

}  // namespace acre
