// Computes figures that follow from counted ones (gather.cc).
#pragma once

#include "base/mutex.h"
#include "control/statistics.h"

namespace acre {

// Called when all of an arena is counted. Takes private lists and outboxes off `live`, and computes the arena's sums.
void finish_arena(ArenaReport& report);

// Adds a finished arena.
void add_report(ArenaReport& to, const ArenaReport& from);

void add_lock(LockStatistics& to, const LockCounts& counts);

}  // namespace acre
