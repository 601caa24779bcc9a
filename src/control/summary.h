// A summary of a few lines for people.
#pragma once

#include "base/text.h"
#include "control/statistics.h"

namespace acre {

inline constexpr size_t kSummaryBytes = 2048;
void add_summary(Text& text, const ProcessStatistics& figures);

// Its lines about limits in force and refusals by the system, each only where it applies.
void add_constraints(Text& text);

}  // namespace acre
