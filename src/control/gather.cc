#include "control/ctl.h"
#include "control/sums.h"
#include "heap/malloc.h"
#include "heap/registry.h"
#include "heap/watched_run.h"
#include "os/os.h"
#include "pages/huge.h"
#include "pages/metadata.h"
#include "pages/page_map.h"
#include "pages/window.h"
#include "slab/slab_use.h"
#include "slab/unit_table.h"

namespace acre {

namespace {

constexpr uint64_t kNsPerMs = 1000000;

// What a walk over the page map and the heaps adds up. `live` is at first all that is not known to be free.
struct Gathering {
  Report& report;
  unsigned automatic;  // arenas that there were at its start
  uint64_t purged = 0;
  uint64_t huge_rounding = 0;

  ArenaReport& of(const Arena& arena) const {
    const unsigned number = racy_load(arena.index);
    ArenaReport* own = number < report.numbers ? report.each[number] : nullptr;
    return own != nullptr ? *own : report.all;
  }
};

// The arena that a run belongs to; null: none that counts, as those of tests.
const Arena* find_arena(const PageHeap* home, unsigned automatic) {
  if (home == nullptr) return nullptr;
  const auto* arena = arena_with(home);
  if (home->keeps_chunks()) return arena;  // an explicit one
  const unsigned index = racy_load(arena->index);
  return index < automatic && arenas::at(index) == arena ? arena : nullptr;
}

// --- Runs -----------------------------------------------------------------------------------------------------

uint64_t& runs_in(ClassStatistics& figures, RunState state) {
  switch (state) {
    case RunState::kFull: return figures.full;
    case RunState::kBinned: return figures.binned;
    case RunState::kShared: return figures.shared;
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
  figures.deferred += use.deferred;
  figures.remote_list += use.remote;
  figures.uncarved += use.uncarved;
  figures.free += use.unowned;
  figures.live += use.live;
}

void add_watched(ArenaReport& to, const Run* run) {
  const WatchedRun* watched = racy_load(run->watched);
  if (watched == nullptr || racy_load(watched->base) != racy_load(run->base)) return;
  ClassStatistics& figures = to.classes[watched->size_class];
  const uint32_t free = smaller(racy_load(watched->free), watched->capacity);
  ++figures.runs;
  ++figures.watched;
  figures.free += free;
  figures.live += watched->capacity - free;
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
  switch (racy_load(run->holds)) {
    case Holds::kDirty:
      ++figures.dirty_runs;
      figures.dirty += pages * kPageBytes;
      return;
    case Holds::kMuzzy:
      ++figures.muzzy_runs;
      figures.muzzy += pages * kPageBytes;
      return;
    case Holds::kClean:
      ++figures.clean_runs;
      figures.clean += pages * kPageBytes;
      return;
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
      case RunKind::kWatched: return add_watched(report, run);
      case RunKind::kFree: return add_free(report, run);
      case RunKind::kLarge: return add_large(report, run);
      default: return;
    }
  });
}

// --- Heaps ----------------------------------------------------------------------------------------------------

// As find_block (heap/lookup.h), for what others are changing. Null: p is no block.
const Slab* find_slab(const void* p) {
  const Slab* slab = unit_table::at(p);
  if (is_block_start(slab, p)) return slab;
  const Run* run = g_page_map.find(p);
  if (run == nullptr || racy_load(run->kind) != RunKind::kSlab) return nullptr;
  slab = racy_load(run->slab);
  return slab != nullptr && is_block_start(slab, p) ? slab : nullptr;
}

// Blocks of a private list may be of several runs, and their owner allocates them meanwhile: each step is checked
// before the next is taken.
void add_private_list(const Gathering& to, const Heap& heap, SizeClass c) {
  const Slot& slot = heap.slots[c];
  const uint32_t most = uint32_t{run_shape(c).capacity} + run_shape(c).most_kept;
  LowAddress low = racy_load(slot.head);
  const Address high = racy_load(slot.high);
  for (uint32_t i = 0; i < most && !is_end(low); ++i) {
    Link* link = reinterpret_cast<Link*>(high | low);
    const Slab* slab = find_slab(link);
    if (slab == nullptr || racy_load(slab->size_class) != c || racy_load(link->mark) != mark_of(slab)) return;
    const Run* run = racy_load(slab->run);
    const Arena* arena = run == nullptr ? nullptr : find_arena(racy_load(run->home), to.automatic);
    if (arena == nullptr) return;
    ++to.of(*arena).classes[c].private_list;
    low = racy_load(link->next);
  }
}

void add_outbox(const Gathering& to, const Heap& heap) {
  heap.outbox().for_each_waiting([&to](const Slab* slab, uint32_t blocks) {
    const Run* run = racy_load(slab->run);
    const Arena* arena = run == nullptr ? nullptr : find_arena(racy_load(run->home), to.automatic);
    const SizeClass c = racy_load(slab->size_class);
    if (arena == nullptr || c >= kSmallClasses) return;
    to.of(*arena).classes[c].outbox += smaller<uint32_t>(blocks, run_shape(c).capacity);
  });
}

void add_events(ClassStatistics& to, const ClassEvents& events) {
  to.refills += events.refills;
  to.new_runs += events.new_runs;
  to.adoptions += events.adoptions;
  to.remote_frees += events.remote_frees;
}

void add_heap(Heap& heap, void* argument) {
  const auto& to = *static_cast<Gathering*>(argument);
  ArenaReport& own = to.of(*heap.arena);
  own.arena.threads += !heap.arena->is_explicit;  // no thread is bound to those
  own.arena.internal += Heap::kBytes;
  add_outbox(to, heap);
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    add_private_list(to, heap, c);
    add_events(own.classes[c], registry::events_of(heap, c));
  }
}

// Under the same lock, so that what a thread has done is neither missed nor seen twice.
void add_ended(void* argument) {
  const auto& to = *static_cast<Gathering*>(argument);
  for (unsigned i = 0; i < to.automatic; ++i) {
    const Arena& arena = *arenas::at(i);
    for (SizeClass c = 0; c < kSmallClasses; ++c) add_events(to.of(arena).classes[c], arena.ended[c]);
  }
}

// --- Arenas ---------------------------------------------------------------------------------------------------

void add_purges(ArenaStatistics& to, const PageCounts& counts) {
  to.dirty_purges += counts.from_dirty.sweeps;
  to.dirty_calls += counts.from_dirty.calls;
  to.dirty_purged += counts.from_dirty.pages * kPageBytes;
  to.muzzy_purges += counts.from_muzzy.sweeps;
  to.muzzy_calls += counts.from_muzzy.calls;
  to.muzzy_purged += counts.from_muzzy.pages * kPageBytes;
}

void add_pages(ArenaStatistics& to, const PageCounts& counts) {
  const size_t free = counts.dirty + counts.muzzy + counts.clean;
  to.active += counts.used * kPageBytes;
  to.dirty += counts.dirty * kPageBytes;
  to.muzzy += counts.muzzy * kPageBytes;
  to.clean += counts.clean * kPageBytes;
  to.purging += (counts.obtained - counts.used - free) * kPageBytes;
  to.base += counts.headers * sizeof(Run);
  to.spare_headers += counts.spare_headers;
  add_purges(to, counts);
}

size_t bytes_of(const Arena& arena) {
  if (arena.is_explicit) return align_up(sizeof(ExplicitArena), kCacheLine);
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
  add_lock(report.pages_lock, arena.pages.lock_counts());
  for (SizeClass c = 0; c < kSmallClasses; ++c) add_lock(report.bin_locks[c], arena.bin(c).lock_counts());
}

// Those that are gone have had no number.
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

// --- The process ----------------------------------------------------------------------------------------------

void add_metadata(ProcessStatistics& to, uint64_t chunks) {
  // What is used is read first: it only grows, as what is mapped does, and never beyond that.
  const size_t table = unit_table::used_bytes();
  const size_t allocated = metadata::allocated_bytes();
  const size_t committed = unit_table::committed_bytes();
  const size_t map = PageMap::mapped_bytes();
  const size_t entries = chunks / kPageBytes + 2 * to.huge_blocks;
  to.metadata = allocated + table + smaller(PageMap::bytes_for(entries), map);
  to.metadata_unused = metadata::mapped_bytes() + committed + map - to.metadata;
  to.reserved = unit_table::reserved_bytes() - committed;
}

void add_system(ProcessStatistics& to, const KernelFigures& kernel) {
  const os::Calls calls = os::calls();
  to.calls_mmap = calls.mmap;
  to.calls_munmap = calls.munmap;
  to.calls_mprotect = calls.mprotect;
  to.calls_mremap = calls.mremap;
  to.calls_madvise = calls.madvise;
  to.minor_faults = kernel.faults.minor;
  to.major_faults = kernel.faults.major;
  to.process_resident = kernel.resident;
}

void add_classes(ProcessStatistics& to, const ArenaReport& all) {
  for (const ClassStatistics& figures : all.classes) {
    to.new_runs += figures.new_runs;
    to.adoptions += figures.adoptions;
    to.remote_frees += figures.remote_frees;
    to.free_blocks += figures.private_list + figures.deferred + figures.remote_list + figures.uncarved +
                      figures.outbox + figures.free;
  }
}

// From what the arenas have together, huge blocks not yet among it.
void finish_process(ProcessStatistics& to, const ArenaReport& all, const Gathering& gathering) {
  const ArenaStatistics& arena = all.arena;
#define ACRE_COPY(name) to.name = arena.name;
  ACRE_COPY(live_small) ACRE_COPY(live_large) ACRE_COPY(private_lists) ACRE_COPY(deferred) ACRE_COPY(remote_lists)
  ACRE_COPY(uncarved) ACRE_COPY(outboxes) ACRE_COPY(run_free) ACRE_COPY(run_rest) ACRE_COPY(transit) ACRE_COPY(dirty)
  ACRE_COPY(muzzy) ACRE_COPY(purging) ACRE_COPY(clean) ACRE_COPY(small_blocks) ACRE_COPY(large_blocks)
  ACRE_COPY(threads) ACRE_COPY(refills)
#undef ACRE_COPY
  const huge::Counts huge = huge::counts();
  to.huge_blocks = huge.blocks;
  to.live_huge = huge.bytes;
  to.arenas = gathering.automatic;
  add_metadata(to, arena.mapped);
  to.allocated = to.live_small + to.live_large + to.live_huge;
  to.rounding = arena.rounding + smaller(gathering.huge_rounding, to.live_huge);
  to.requested = to.allocated - to.rounding;
  to.active = arena.active + to.live_huge;
  to.resident = to.active + to.dirty + to.muzzy + to.purging + to.metadata;
  to.mapped = to.resident + to.clean + to.metadata_unused;
  add_classes(to, all);
  to.zero_reallocs = zero_reallocs();
  to.purges = arena.dirty_calls + arena.muzzy_calls;
}

// Huge blocks belong to no arena.
void add_huge(ArenaStatistics& all, const ProcessStatistics& process) {
  all.rounding = process.rounding;
  all.large_blocks += process.huge_blocks;
  for (uint64_t* figure : {&all.live_large, &all.active, &all.resident, &all.mapped}) *figure += process.live_huge;
}

void add_locks(LockStatistics (&to)[kProcessLocks]) {
  const auto at = [&to](ProcessLock lock) -> LockStatistics& { return to[static_cast<unsigned>(lock)] = {}; };
  add_lock(at(ProcessLock::ctl), registry::control_lock.counts());
  add_lock(at(ProcessLock::registry), registry::lock_counts());
  add_lock(at(ProcessLock::huge), huge::lock_counts());
  add_lock(at(ProcessLock::window), window::lock_counts());
  add_lock(at(ProcessLock::units), unit_table::lock_counts());
  add_lock(at(ProcessLock::metadata), metadata::lock_counts());
}

}  // namespace

KernelFigures ask_kernel() { return {os::faults(), os::resident_bytes()}; }

void gather(Report& report, const KernelFigures& kernel) {
  Gathering to{report, arenas::count()};
  report.numbers = smaller(arenas::numbers(), arenas::kMostNumbers);
  report.process = {};
  report.all = {};
  report.for_each([](unsigned, ArenaReport& arena) { arena = {}; });
  const uint64_t now_ms = os::now_ms();
  const arenas::Walk walk;  // no arena goes before its figures are added, nor between two of them
  arenas::for_each([&](Arena& arena) { add_arena(to, arena, now_ms); });
  add_retired(to);
  add_runs(to);
  registry::for_each(add_heap, &to, add_ended);
  arenas::for_each_heap(add_heap, &to);
  finish_arena(report.all);  // of those without a place
  report.for_each([&](unsigned, ArenaReport& arena) {
    finish_arena(arena);
    add_report(report.all, arena);
  });
  finish_process(report.process, report.all, to);
  report.process.purged = to.purged;
  add_system(report.process, kernel);
  add_huge(report.all.arena, report.process);
  add_locks(report.locks);
}

size_t count_large(size_t arena, size_t pages) {
  size_t blocks = 0;
  const arenas::Walk walk;
  g_page_map.for_each_run([&](const Run* run) {
    if (racy_load(run->kind) != RunKind::kLarge || racy_load(run->pages) != pages) return;
    const Arena* home = find_arena(racy_load(run->home), arenas::count());
    blocks += home != nullptr && (arena == ctl::kAllArenas || racy_load(home->index) == arena);
  });
  return blocks;
}

}  // namespace acre
