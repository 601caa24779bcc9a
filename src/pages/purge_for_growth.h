// How many dirty pages to purge when clean pages come into use, so that the process does not grow.
//
// A dirty run that is too short for a request would stay until it decays. None is purged for a slab run: its clean
// pages fill up slowly, and the dirty pages would become pieces too short for the next slab runs. None is purged if too
// much of what was purged for this reason was needed again. docs/decisions/0014-purge-for-growth.md has the figures.
#pragma once

#include <cstddef>

#include "base/atomics.h"
#include "base/units.h"

namespace acre {

// For any thread at any time. Races between threads cost no more than page faults.
class PurgeForGrowth {
 public:
  // Returns the pages to purge. taken: clean pages that just came into use; held: pages used, dirty or muzzy now;
  // dirty: pages dirty or muzzy now.
  size_t pages_to_purge(size_t taken, size_t held, size_t dirty);

  // False, as mostly for a slab run: the result of pages_to_purge() does not depend on `dirty`.
  bool depends_on_dirty(size_t taken) const { return taken >= kFrom || relaxed_load(purged_) != 0; }

 private:
  static constexpr size_t kFrom = (size_t{256} << 10) / kPageBytes;
  static constexpr size_t kMostRegrets = 4;

  size_t most_held_ = 0;  // the most pages held when clean pages were taken
  size_t purged_ = 0;     // all pages purged for this reason
  size_t regretted_ = 0;  // those purged in vain: clean pages were taken later without more in use than most_held_
};

}  // namespace acre
