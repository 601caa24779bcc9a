// The ctl nodes of figures: a group for each kind of thing that has figures, with a node for each row of its table.
#pragma once

#include "control/snapshot.h"

namespace acre::ctl {

struct StatGroup {
  char prefix[44];
  StatScope scope;
  unsigned lock = 0;  // for kLock: as in snapshot.h

  constexpr StatTable table() const { return stat_table(scope); }
};

constexpr StatGroup kStatGroups[] = {
    {"stats.", StatScope::kProcess},
#define ACRE_X(name, help) \
  {"stats.mutexes." #name ".", StatScope::kLock, static_cast<unsigned>(ProcessLock::name)},
    ACRE_PROCESS_LOCKS(ACRE_X)
#undef ACRE_X
    {"stats.arenas.#.", StatScope::kArena},
    {"stats.arenas.#.mutexes.extents_dirty.", StatScope::kLock, kPagesLock},
    {"stats.arenas.#.bins.#.", StatScope::kClass},
    {"stats.arenas.#.bins.#.mutex.", StatScope::kLock, kBinLock},
    {"stats.arenas.#.extents.#.", StatScope::kLength},
    {"stats.tags.#.", StatScope::kTag},
};

constexpr unsigned count_stat_nodes() {
  unsigned count = 0;
  for (const StatGroup& group : kStatGroups) count += group.table().count;
  return count;
}
inline constexpr unsigned kStatNodes = count_stat_nodes();

}  // namespace acre::ctl
