// The figures of the process: those that follow from its arenas' figures, and its own (gather.cc).
#pragma once

#include "control/statistics.h"

namespace acre {

// Add what an arena has purged. add_pages() also adds its pages.
void add_purges(ArenaStatistics& to, const PageCounts& counts);
void add_pages(ArenaStatistics& to, const PageCounts& counts);

// all: the sums of all arenas, still without huge blocks. huge_rounding: the rounding of huge blocks.
void finish_process(ProcessStatistics& to, const ArenaReport& all, unsigned automatic, uint64_t huge_rounding);

void add_system(ProcessStatistics& to, const KernelFigures& kernel);

// Adds huge blocks, which belong to no arena, to the sums of all arenas.
void add_huge(ArenaStatistics& all, const ProcessStatistics& process);

void add_locks(LockStatistics (&to)[kProcessLocks]);

}  // namespace acre
