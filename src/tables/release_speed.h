// TCMalloc's release rate: a number without a unit, 1 by default, "reasonable in the range [0,10]". A higher rate
// returns memory faster, 0 never. acre takes it as the speed of decay (dirty_decay_ms), in multiples of the default.
#pragma once

#include "tables/options.h"

namespace acre::release_speed {

inline constexpr int64_t kDefaultMs = kOptionTable[index_of(Option::dirty_decay_ms)].initial;

// dirty_decay_ms for a rate, which is not negative.
constexpr int64_t to_ms(double rate) {
  if (rate == 0) return -1;
  const double ms = static_cast<double>(kDefaultMs) / rate;
  return ms < static_cast<double>(kMostMs) ? static_cast<int64_t>(ms) : kMostMs;
}

// The rate for a dirty_decay_ms. "At once" has the rate of one millisecond.
constexpr double from_ms(int64_t ms) {
  if (ms < 0) return 0;
  return static_cast<double>(kDefaultMs) / static_cast<double>(ms == 0 ? 1 : ms);
}

static_assert(to_ms(1) == kDefaultMs && from_ms(kDefaultMs) == 1 && to_ms(10) == kDefaultMs / 10);

}  // namespace acre::release_speed
