// Computes figures that follow from counted ones (gather.cc): of arenas in sums.cc, of the process in process.cc.
#pragma once

#include "base/mutex.h"
#include "control/statistics.h"

namespace acre {

// Called when all of an arena is counted. Takes private lists and outboxes off `live`, and computes the arena's sums.
void finish_arena(ArenaReport& report);

// Adds a finished arena.
void add_report(ArenaReport& to, const ArenaReport& from);

void add_lock(LockStatistics& to, const LockCounts& counts);

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
