// Large allocations, told on stderr (option large_alloc_report).
#pragma once

#include <cstddef>

#include "tables/options.h"

namespace acre::report {

// The program was given this block, of n bytes. If that is as much as the option says, or, after a report, an eighth more
// than what was asked for then, a report with the stack is written to stderr, by one call of write. For large::g_reporter.
void large_block(const void* block, size_t n);

// Whether large_alloc_report is neither the default nor 0. Then the unwinder is opened at start-up.
inline bool is_asked_for() {
  const auto from = options().large_alloc_report;
  return from != 0 && from != Options{}.large_alloc_report;
}

}  // namespace acre::report
