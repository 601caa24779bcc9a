// What follows from figures that were counted (gather.cc).
#pragma once

#include "base/mutex.h"
#include "control/statistics.h"

namespace acre {

// When all of an arena is counted: takes private lists and outboxes off what seemed to be live, and works out the
// arena's sums.
void finish_arena(ArenaReport& report);

// Adds an arena that is finished.
void add_report(ArenaReport& to, const ArenaReport& from);

void add_lock(LockStatistics& to, const LockCounts& counts);

}  // namespace acre
