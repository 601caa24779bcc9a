// A release rate: so many bytes a second go back to the OS, oldest first, as long as there are dirty pages. While it is
// set, it takes the place of the decay curve.
//
// One budget for the whole process, which grows with time; at most a second's worth, or a page's, adds up while there
// is nothing to release. All functions may be called by any thread at any time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acre::release_rate {

// The decay curve decides.
inline constexpr int64_t kByDecay = -1;

// Bytes per second, at most kMostRate (tables/options.h), so that a second's worth cannot overflow; 0: nothing is released by and by; kByDecay.
void set(int64_t bytes_per_second);
int64_t get();

// Takes up to `wanted` pages out of the budget that there is by `now` (ms); returns how many.
size_t take(uint64_t now, size_t wanted);

// When there will be a budget worth a look (ms): a tenth of a second's, or a page's if that takes longer. For rates
// above 0.
uint64_t next(uint64_t now);

}  // namespace acre::release_rate
