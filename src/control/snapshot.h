// The figures that ctl reports. They are taken at the first question and when `epoch` is written, so that the answers
// in between fit each other.
#pragma once

#include <cstdint>

#include "control/statistics.h"

namespace acre::ctl {

// Takes new figures. Returns false if memory is refused.
bool refresh();

// The same, but keeps the old figures if gathering them took too much time lately. It serves writes of `epoch`, which
// programs such as redis do ten times a second.
bool refresh_if_due();

// The processor time that gathering took is a debt, which is paid off at the rate of a fiftieth of a processor. Figures
// may be gathered anew while the debt is below kMostDebtNs.
struct Debt {
  uint64_t ns = 0;
  uint64_t since_ms = 0;

  constexpr uint64_t at(uint64_t now_ms) const {
    constexpr uint64_t kPaidPerMs = 1000000 / 50;
    return ns - smaller(ns, (now_ms - smaller(since_ms, now_ms)) * kPaidPerMs);
  }
};
inline constexpr uint64_t kMostDebtNs = 100000000;

// Calls refresh() if no figures were taken yet. Must come before the functions below.
bool refresh_once();

// How often figures were taken.
uint64_t epoch();

// Names a figure. Only the indices of its scope are used. arena may be kAllArenas; an arena that was made after the
// figures were taken has only zeroes. lock: a ProcessLock, kPagesLock for the arena's lock, kBinLock for the class's.
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
ClassStatistics class_figures(size_t arena, SizeClass c);

bool background_thread_runs();

}  // namespace acre::ctl
