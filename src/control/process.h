// The figures of the process: what follows from those of its arenas, and what it has besides (gather.cc).
#pragma once

#include "control/statistics.h"

namespace acre {

// Adds what an arena has purged, and its pages.
void add_purges(ArenaStatistics& to, const PageCounts& counts);
void add_pages(ArenaStatistics& to, const PageCounts& counts);

// all: what the arenas have together, huge blocks not yet among it. huge_rounding: of huge blocks.
void finish_process(ProcessStatistics& to, const ArenaReport& all, unsigned automatic, uint64_t huge_rounding);

void add_system(ProcessStatistics& to, const KernelFigures& kernel);

// Huge blocks belong to no arena, and count for all together.
void add_huge(ArenaStatistics& all, const ProcessStatistics& process);

void add_locks(LockStatistics (&to)[kProcessLocks]);

}  // namespace acre
