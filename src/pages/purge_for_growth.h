// How many dirty pages should go when clean ones come into use, so that the process does not grow by those.
//
// Dirty runs that are too short for what is asked for would stay until they decay, and the process would hold both. None
// go for a slab run, whose clean pages fill up slowly, while the dirty ones would lie in pieces that are too short for the
// next ones; and none where experience speaks against it: what was purged for this reason had to be faulted in again.
// docs/decisions/0014-room.md has the figures.
#pragma once

#include <cstddef>

#include "base/atomics.h"
#include "base/units.h"

namespace acre {

// For any thread at any time. Threads that are at it at once may each miss what the others note: no more than a page fault
// hangs on it.
class PurgeForGrowth {
 public:
  // Pages: so many clean ones have just come into use, `held` are used, dirty or muzzy now, `dirty` of them dirty or muzzy.
  // Returns how many should be purged.
  size_t pages_to_purge(size_t taken, size_t held, size_t dirty);

  // Whether that depends on `dirty`: as a rule not for a slab run.
  bool depends_on_dirty(size_t taken) const { return taken >= kFrom || relaxed_load(purged_) != 0; }

 private:
  static constexpr size_t kFrom = (size_t{256} << 10) / kPageBytes;
  static constexpr size_t kMostRegrets = 4;

  size_t most_held_ = 0;  // the most when clean pages were taken
  size_t purged_ = 0;     // for room
  size_t regretted_ = 0;  // of them: taken as clean ones although not more were in use than were ever held
};

}  // namespace acre
