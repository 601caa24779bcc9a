#include "control/sums.h"

#include <initializer_list>

#include "cache/malloc.h"
#include "cache/registry.h"
#include "guard/slots.h"
#include "pages/huge.h"
#include "pages/metadata.h"
#include "pages/page_map.h"
#include "pages/window.h"
#include "slab/unit_table.h"

namespace acre {

namespace {

void add_metadata(ProcessStatistics& to, uint64_t chunks) {
  // The bytes in use are read before the mapped bytes. Both only grow, so no difference is below zero.
  const size_t table = unit_table::used_bytes();
  const size_t allocated = metadata::allocated_bytes();
  const size_t committed = unit_table::committed_bytes();
  const size_t map = PageMap::mapped_bytes();
  const size_t entries = chunks / kPageBytes + 2 * to.huge_blocks;
  to.metadata = allocated + table + smaller(PageMap::bytes_for(entries), map);
  to.metadata_unused = metadata::mapped_bytes() + committed + map - to.metadata;
  to.reserved = unit_table::reserved_bytes() - committed;
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

// Computes the figures of pages from the sums of all arenas, still without huge blocks.
void finish_pages(ProcessStatistics& to, const ArenaStatistics& arena) {
  const huge::Counts huge = huge::counts();
  to.huge_blocks = huge.blocks;
  to.live_huge = huge.bytes;
  to.dirty = arena.dirty;
  to.muzzy = arena.muzzy;
  to.purging = arena.purging;
  to.clean = arena.clean;
  to.active = arena.active + to.live_huge;
  add_metadata(to, arena.active + arena.dirty + arena.muzzy + arena.purging + arena.clean);
  to.resident = to.active + to.dirty + to.muzzy + to.purging + to.metadata;
  to.mapped = to.resident + to.clean + to.metadata_unused;
  to.purges = arena.dirty_calls + arena.muzzy_calls;
}

}  // namespace

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

void finish_process(ProcessStatistics& to, const ArenaReport& all, unsigned automatic, uint64_t huge_rounding) {
  const ArenaStatistics& arena = all.arena;
#define ACRE_COPY(name) to.name = arena.name;
  ACRE_COPY(live_small) ACRE_COPY(live_large) ACRE_COPY(private_lists) ACRE_COPY(deferred) ACRE_COPY(remote_lists)
  ACRE_COPY(uncarved) ACRE_COPY(outboxes) ACRE_COPY(run_free) ACRE_COPY(run_rest) ACRE_COPY(transit)
  ACRE_COPY(small_blocks) ACRE_COPY(large_blocks) ACRE_COPY(threads) ACRE_COPY(refills)
#undef ACRE_COPY
  finish_pages(to, arena);
  to.arenas = automatic;
  to.allocated = to.live_small + to.live_large + to.live_huge;
  to.rounding = arena.rounding + smaller(huge_rounding, to.live_huge);
  to.requested = to.allocated - to.rounding;
  add_classes(to, all);
  to.zero_reallocs = zero_reallocs();
  const guard::Counts guards = guard::counts();
  to.guarded = guards.made;
  to.guarded_live = guards.live;
  to.unguarded = guards.refused;
}

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

ProcessStatistics gather_pages() {
  ProcessStatistics process = {};
  ArenaStatistics all = {};
  const arenas::Walk walk;
  arenas::for_each([&](Arena& arena) {
    const PageCounts counts = arena.pages.counts();
    add_pages(all, counts);
    process.purged += counts.purged * kPageBytes;
  });
  const PageCounts& retired = arenas::retired().pages;  // what it counted must not be forgotten
  add_purges(all, retired);
  process.purged += retired.purged * kPageBytes;
  all.active += guard::counts().live_bytes;
  finish_pages(process, all);
  process.threads = registry::live_heaps();
  return process;
}

}  // namespace acre
