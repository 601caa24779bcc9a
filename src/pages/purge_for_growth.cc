#include "pages/purge_for_growth.h"

namespace acre {

size_t PurgeForGrowth::pages_to_purge(size_t taken, size_t held, size_t dirty) {
  const size_t most = relaxed_load(most_held_);
  size_t regretted = relaxed_load(regretted_);
  if (held - smaller(held, dirty) <= most) {
    regretted = smaller(regretted + taken, relaxed_load(purged_));
    if (regretted != relaxed_load(regretted_)) relaxed_store(regretted_, regretted);
  }
  if (held <= most) return 0;
  const bool is_bad = taken < kFrom || regretted > most / kMostRegrets;
  const size_t pages = is_bad ? 0 : smaller(held - most, dirty);
  relaxed_store(most_held_, held - pages);
  if (pages != 0) relaxed_store(purged_, relaxed_load(purged_) + pages);
  return pages;
}

}  // namespace acre
