// A hook for runs of small blocks: the recorder writes down where they are.
#pragma once

#include <cstddef>

#include "base/atomics.h"
#include "base/units.h"

namespace acre::on_runs {

// Called when a run was made, and before its pages go back, with 0 block bytes: also while an idle thread's cache is
// reclaimed, under the registry's lock. Must neither allocate nor take a lock.
using Hook = void (*)(Address base, size_t pages, size_t block_bytes);
inline constinit Hook g_hook ACRE_HIDDEN = nullptr;

inline bool is_on() { return relaxed_load(g_hook) != nullptr; }

}  // namespace acre::on_runs
