// What acre holds: the figures of tables/statistics.h, gathered.
//
// Nobody is stopped for it. The figures of a program whose threads go on are each right at some time while they are
// gathered, not all at the same; but none is below zero, no page counts twice, allocated <= active <= resident <=
// mapped, and mapped is the sum of its parts. While all threads rest, all of them are exact.
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
};

// each: places for arenas' own figures, by their numbers (manual/manual_arena.h); null where there is none. Those below `numbers`
// were looked at the last time.
// all: all arenas together, those without a place of their own as well; huge blocks count there as large ones.
struct Report {
  ProcessStatistics process;
  LockStatistics locks[kProcessLocks];
  ArenaReport all;
  unsigned numbers = 0;
  ArenaReport* each[arenas::kMostNumbers] = {};

  // Null: there are no figures of it.
  const ArenaReport* of(size_t number) const { return number < numbers ? each[number] : nullptr; }

  // action(number, figures), for each arena that has figures of its own.
  template <class Action>
  void for_each(Action action) const {
    for (unsigned i = 0; i < numbers; ++i) {
      if (each[i] != nullptr) action(i, *each[i]);
    }
  }
};

// Fills it in: all but the pointers. Where arenas have no place, only what concerns them alone is missing.
// Makes no system calls: the kernel is asked before. kernel: null, its figures are not wanted, nor those of locks.
struct KernelFigures {
  os::Faults faults;
  size_t resident;
};
KernelFigures ask_kernel();
void gather(Report& report, const KernelFigures* kernel);

// The process's part. All zeroes if the little memory is refused that the first call needs.
ProcessStatistics gather_process();

// The same without what the kernel says, and so without a system call, once the first call has its memory.
ProcessStatistics gather_blocks();

// Of these, what pages and huge blocks tell: active, dirty, muzzy, purging, clean, metadata, metadata_unused, reserved,
// resident, mapped, live_huge, huge_blocks, purges, purged, threads. Looks at no run and at no list of blocks.
ProcessStatistics gather_pages();

// A tag's figures, under the table's names.
inline TagStatistics statistics_of(const TagInfo& tag) {
  return {tag.live, tag.allocated, tag.peak, tag.limit, tag.refused};
}

// Live large blocks of so many bytes; arena: an arena's number, or that of all, where huge blocks count, too.
size_t count_large(size_t arena, size_t bytes);

// A report of this moment in memory of its own. Null when memory is refused.
Report* make_report();
void drop_report(Report* report);

}  // namespace acre
