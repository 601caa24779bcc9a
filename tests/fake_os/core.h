// A program of representative work over the whole core: blocks of all sizes, threads, arenas, heaps, tags, a profile,
// statistics, fork, decay and purges.
#pragma once

#include "scripts.h"

namespace acre::fake_os {

// Needs a clock that stands still (kernel::stop_clock).
extern const Script kWholeCore;

}  // namespace acre::fake_os
