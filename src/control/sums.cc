#include "control/sums.h"

#include "cache/rounding.h"

namespace acre {

namespace {

void find_fragmentation(ClassStatistics& figures, SizeClass c) {
  const uint64_t run_bytes = figures.runs * run_shape(c).pages * kPageBytes;
  const uint64_t live_bytes = figures.live * run_shape(c).block_bytes;
  figures.fragmentation = run_bytes == 0 ? 0 : (run_bytes - smaller(run_bytes, live_bytes)) * 1000 / run_bytes;
}

// While threads run, a count may lag behind what it counts.
void find_freed(ClassStatistics& figures) {
  figures.allocated = larger(static_cast<int64_t>(figures.allocated), int64_t{0});
  figures.freed = figures.allocated - smaller(figures.allocated, figures.live);
}

void finish_class(ClassStatistics& figures, SizeClass c, ArenaStatistics& arena) {
  arena.refills += figures.refills;
  if ((figures.runs | figures.private_list | figures.outbox | figures.allocated) == 0) return;
  const RunShape& shape = run_shape(c);
  figures.private_list = smaller(figures.private_list, figures.live);
  figures.live -= figures.private_list;
  figures.outbox = smaller(figures.outbox, figures.live);
  figures.live -= figures.outbox;
  find_freed(figures);
  arena.small_allocated += figures.allocated;
  arena.small_freed += figures.freed;
  find_fragmentation(figures, c);
  figures.rounding = figures.live * rounding::of(c);
  arena.rounding += figures.rounding;
  arena.live_small += figures.live * shape.block_bytes;
  arena.small_blocks += figures.live;
  arena.private_lists += figures.private_list * shape.block_bytes;
  arena.deferred += figures.deferred * shape.block_bytes;
  arena.remote_lists += figures.remote_list * shape.block_bytes;
  arena.uncarved += figures.uncarved * shape.block_bytes;
  arena.outboxes += figures.outbox * shape.block_bytes;
  arena.run_free += figures.free * shape.block_bytes;
  arena.run_rest += figures.runs * (shape.pages * kPageBytes - size_t{shape.capacity} * shape.block_bytes);
}

template <class Statistics>
void add_figures(Statistics& to, const Statistics& from) {
  for (size_t i = 0; i < sizeof(Statistics) / sizeof(uint64_t); ++i) {
    reinterpret_cast<uint64_t*>(&to)[i] += figures_of(from)[i];
  }
}

void add_figures(LockStatistics& to, const LockStatistics& from) {
  add_lock(to, LockCounts{from.acquisitions, from.waits, from.spins, from.wait_time, from.longest_wait,
                          from.most_waiting});
}

}  // namespace

void add_lock(LockStatistics& to, const LockCounts& counts) {
  to.acquisitions += counts.acquisitions;
  to.waits += counts.waits;
  to.spins += counts.spins;
  to.wait_time += counts.wait_ns;
  to.longest_wait = larger(to.longest_wait, counts.longest_wait_ns);
  to.most_waiting = larger(to.most_waiting, counts.most_waiting);
}

void finish_arena(ArenaReport& report) {
  ArenaStatistics& arena = report.arena;
  uint64_t in_runs = arena.live_large + report.guarded;
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    finish_class(report.classes[c], c, arena);
    in_runs += report.classes[c].runs * run_shape(c).pages * kPageBytes;
  }
  arena.active = larger(arena.active, in_runs);
  arena.transit = arena.active - in_runs;
  arena.cached = arena.private_lists + arena.deferred + arena.outboxes;
  arena.resident = arena.active + arena.dirty + arena.muzzy + arena.purging;
  arena.mapped = arena.resident + arena.clean;
}

void add_report(ArenaReport& to, const ArenaReport& from) {
  const uint64_t uptime = larger(to.arena.uptime, from.arena.uptime);
  add_figures(to.arena, from.arena);
  to.arena.uptime = uptime;
  add_figures(to.pages_lock, from.pages_lock);
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    ClassStatistics& figures = to.classes[c];
    add_figures(figures, from.classes[c]);
    find_fragmentation(figures, c);
    find_freed(figures);  // a thread may have blocks in runs of other arenas
    add_figures(to.bin_locks[c], from.bin_locks[c]);
  }
  to.arena.small_freed = to.arena.small_allocated - smaller(to.arena.small_allocated, to.arena.small_blocks);
  for (unsigned i = 0; i < FreeRuns::kBins; ++i) add_figures(to.lengths[i], from.lengths[i]);
}

}  // namespace acre
