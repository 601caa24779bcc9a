// What acre holds: the figures of tables/statistics.h, gathered.
//
// Nobody is stopped for it. The figures of a program whose threads go on are each right at some time while they are
// gathered, not all at the same; but none is below zero, no page counts twice, allocated <= active <= resident <=
// mapped, and mapped is the sum of its parts. While all threads rest, all of them are exact.
#pragma once

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

// each: room for the own parts of the first `room` arenas; `arenas` of them have figures.
// all: all arenas together; huge blocks count there as large ones.
struct Report {
  ProcessStatistics process;
  LockStatistics locks[kProcessLocks];
  ArenaReport all;
  unsigned arenas = 0;
  unsigned room = 0;
  ArenaReport* each[kMostArenas] = {};
};

// Fills it in: all but `room` and the pointers. Where there is no room for all arenas, because one was made just now or
// room is 0, only what concerns single arenas is missing.
// Makes no system calls: the kernel is asked before.
struct KernelFigures {
  os::Faults faults;
  size_t resident;
};
KernelFigures ask_kernel();
void gather(Report& report, const KernelFigures& kernel);

// The process's part. All zeroes if the little memory is refused that the first call needs.
ProcessStatistics gather_process();

// Live large runs of so many pages; index: an arena's, or that of all.
size_t count_large(size_t arena, size_t pages);

// A report of this moment in memory of its own. Null when memory is refused.
Report* make_report();
void drop_report(Report* report);

}  // namespace acre
