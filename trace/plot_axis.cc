#include "plot_axis.h"

#include <algorithm>

namespace acre::trace {

void Axis::add(uint64_t address, uint64_t bytes) {
  const uint64_t first = address / kUnit, last = (address + bytes - 1) / kUnit;
  if (first == last) {
    uint64_t& recent = recent_[(first * 0x9e3779b97f4a7c15u) >> 52];
    if (recent == first + 1) return;
    recent = first + 1;
  }
  added_.push_back({first, last});
  if (added_.size() > 2 * merged_ + (1 << 20)) merge();
}

void Axis::merge() {
  std::sort(added_.begin(), added_.end());
  size_t kept = 0;
  for (const Units& units : added_) {
    if (kept > 0 && units.first <= added_[kept - 1].last + 1)
      added_[kept - 1].last = std::max(added_[kept - 1].last, units.last);
    else
      added_[kept++] = units;
  }
  added_.resize(kept);
  merged_ = kept;
}

void Axis::finish() {
  merge();
  uint64_t y = 0;
  for (const Units& units : added_) {
    ranges_.push_back({units.first * kUnit, units.last - units.first + 1, y});
    y += ranges_.back().units * kUnit;
  }
  added_ = {};
}

bool Axis::find(uint64_t address, uint64_t& y) const {
  const auto has = [&](size_t i) {
    return i < ranges_.size() && address >= ranges_[i].start && address - ranges_[i].start < ranges_[i].units * kUnit;
  };
  if (!has(last_)) {
    const auto above = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                        [](uint64_t value, const Range& range) { return value < range.start; });
    if (above == ranges_.begin()) return false;
    last_ = static_cast<size_t>(above - ranges_.begin()) - 1;
    if (!has(last_)) return false;
  }
  y = ranges_[last_].y + (address - ranges_[last_].start);
  return true;
}

}  // namespace acre::trace
