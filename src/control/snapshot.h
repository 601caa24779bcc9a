// The figures of one moment, more or less, for ctl to report from: taken at the first question and when `epoch` is
// written, so that the answers in between fit each other.
#pragma once

#include <cstdint>

#include "control/statistics.h"

namespace acre::ctl {

// Takes new figures. False when memory for them is refused.
bool refresh();

// The same, unless the last ones took so long to gather that it is too soon. What writing `epoch` does: programs such as
// redis do so ten times a second, whatever it costs.
bool refresh_if_due();

// Whether figures whose gathering took so much processor time and ended at this moment may be gathered anew: at any time
// what takes less than a millisecond, all else so seldom that it takes a fiftieth of a processor at most.
constexpr bool is_due(uint64_t cost_ns, uint64_t gathered_ms, uint64_t now_ms) {
  constexpr uint64_t kCheapNs = 1000000, kRest = 50, kNsPerMs = 1000000;
  return cost_ns < kCheapNs || now_ms - smaller(gathered_ms, now_ms) >= cost_ns / kNsPerMs * kRest;
}

// The same as refresh() if none were taken yet. Before any of the others.
bool refresh_once();

// How often they were taken.
uint64_t epoch();

// What a figure is of: the scope's own indices, the others are not looked at. arena may be kAllArenas; an arena that
// was made since has only zeroes. lock: a ProcessLock, kPagesLock for the arena's, kBinLock for the class's.
inline constexpr unsigned kPagesLock = kProcessLocks;
inline constexpr unsigned kBinLock = kProcessLocks + 1;
struct Figure {
  StatScope scope;
  unsigned row;     // in the scope's table
  unsigned lock;
  size_t arena;
  size_t at;        // size class, or class of lengths of free runs
};
uint64_t read_figure(const Figure& figure);

bool background_thread_runs();

}  // namespace acre::ctl
