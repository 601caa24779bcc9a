// The release rate: so many bytes a second go back to the OS, oldest first, in place of decay. The whole process has
// one budget, which grows with time, but only to a second's worth or a page while nothing can be released. Any thread
// may call these functions at any time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acre::release_rate {

inline constexpr int64_t kByDecay = -1;

// Bytes per second, at most kMostRate (tables/options.h), so that a second's worth cannot overflow. 0: nothing is
// released by time. kByDecay: decay decides.
void set(int64_t bytes_per_second);
int64_t get();

// Takes up to `wanted` pages from the budget at time `now` (ms). Returns their number.
size_t take(uint64_t now, size_t wanted);

// When the budget will be worth a look (ms): a tenth of a second's, or a page's if that is more. For rates above 0.
uint64_t next(uint64_t now);

}  // namespace acre::release_rate
