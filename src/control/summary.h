// A summary of a few lines for people.
#pragma once

#include "base/text.h"
#include "control/statistics.h"

namespace acre {

inline constexpr size_t kSummaryBytes = 2048;
void add_summary(Text& text, const ProcessStatistics& figures);

}  // namespace acre
