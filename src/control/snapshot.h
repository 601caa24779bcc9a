// The figures of one moment, more or less, for ctl to report from: taken at the first question and when `epoch` is
// written, so that the answers in between fit each other.
#pragma once

#include <cstdint>

#include "control/statistics.h"

namespace acre::ctl {

// Takes new figures. False when memory for them is refused.
bool refresh();

// The same if none were taken yet. Before any of the others.
bool refresh_once();

// How often they were taken.
uint64_t epoch();

// Those of an arena, or of all arenas and huge blocks together (kAllArenas).
ArenaStatistics figures(size_t arena);
size_t metadata_bytes();

bool background_thread_runs();

}  // namespace acre::ctl
