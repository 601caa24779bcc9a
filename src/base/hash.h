// Hashing of words.
#pragma once

#include <stdint.h>

namespace acre {

// 2^64 over the golden ratio: times this, each bit of a word reaches the higher ones (Fibonacci hashing; Knuth, volume 3,
// 6.4). Odd, so that no two words give the same.
inline constexpr uint64_t kHashFactor = 0x9e3779b97f4a7c15;

}  // namespace acre
