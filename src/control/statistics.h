// Gathers the figures of tables/statistics.h.
//
// No thread is stopped for it. While threads run, each figure is right at some time during the gathering, but not all
// at the same time. Even then no figure is below zero, no page counts twice, allocated <= active <= resident <= mapped,
// and mapped is the sum of its parts. While all threads rest, all figures are exact.
#pragma once

#include "manual/manual_arena.h"
#include "manual/tags.h"
#include "os/os.h"
#include "pages/free_runs.h"
#include "slab/arena.h"
#include "tables/statistics.h"

namespace acre {

struct ArenaReport {
  ArenaStatistics arena;
  LockStatistics pages_lock;
  ClassStatistics classes[kSmallClasses];
  LockStatistics bin_locks[kSmallClasses];
  LengthStatistics lengths[FreeRuns::kBins];  // by length
  uint64_t guarded = 0;  // bytes of the pages of guarded blocks
};

// each: the figures of single arenas, by number (manual/manual_arena.h); null: no place for that arena. gather() has
// filled in the entries below `numbers`.
// all: the sums of all arenas, including those without a place. Huge blocks count there as large ones.
struct Report {
  ProcessStatistics process;
  LockStatistics locks[kProcessLocks];
  ArenaReport all;
  unsigned numbers = 0;
  ArenaReport* each[arenas::kMostNumbers] = {};

  // Null: there are no figures of this arena.
  const ArenaReport* of(size_t number) const { return number < numbers ? each[number] : nullptr; }

  // Calls action(number, figures) for each arena that has figures of its own.
  template <class Action>
  void for_each(Action action) const {
    for (unsigned i = 0; i < numbers; ++i) {
      if (each[i] != nullptr) action(i, *each[i]);
    }
  }
};

// gather() fills in the report, all but the pointers. An arena without a place is counted in the sums only. gather()
// makes no system call: ask_kernel() comes before. kernel null: neither the kernel's figures nor those of locks are
// wanted.
struct KernelFigures {
  os::Faults faults;
  size_t resident;
};
KernelFigures ask_kernel();
void gather(Report& report, const KernelFigures* kernel);

// The process's figures. All are zero if the memory that the first call needs is refused.
ProcessStatistics gather_process();

// The same without the kernel's figures. Makes no system call once the first call has its memory.
ProcessStatistics gather_blocks();

// Only the figures that pages and huge blocks tell: active, dirty, muzzy, purging, clean, metadata, metadata_unused,
// reserved, resident, mapped, live_huge, huge_blocks, purges, purged, threads. Looks at no run and at no list of
// blocks.
ProcessStatistics gather_pages();

inline TagStatistics statistics_of(const TagInfo& tag) {
  return {tag.live, tag.allocated, tag.peak, tag.limit, tag.refused};
}

// Counts the live large blocks of this size. arena: an arena's number, or kAllArenas, which includes huge blocks.
size_t count_large(size_t arena, size_t bytes);

// Gathers a report in memory of its own. Returns null if memory is refused.
Report* make_report();
void drop_report(Report* report);

}  // namespace acre
