// The figures of one moment, more or less, for ctl to report from: taken at the first question and when `epoch` is
// written, so that the answers in between fit each other.
#pragma once

#include <cstdint>

#include "control/statistics.h"

namespace acre::ctl {

// Takes new figures. False when memory for them is refused.
bool refresh();

// The same, unless it has cost too much of late. What writing `epoch` does: programs such as redis do so ten times a
// second, whatever it costs.
bool refresh_if_due();

// The processor time that figures took to gather is a debt, which a fiftieth of a processor pays off. They may be
// gathered anew while it is below kMostDebtNs.
struct Debt {
  uint64_t ns = 0;
  uint64_t since_ms = 0;

  constexpr uint64_t at(uint64_t now_ms) const {
    constexpr uint64_t kPaidPerMs = 1000000 / 50;
    return ns - smaller(ns, (now_ms - smaller(since_ms, now_ms)) * kPaidPerMs);
  }
};
inline constexpr uint64_t kMostDebtNs = 100000000;

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
