#pragma once

#include <stdint.h>

namespace acre {

// 2^64 over the golden ratio. Multiplied by it, each bit of a word reaches the higher bits (Fibonacci hashing; Knuth,
// volume 3, 6.4). It is odd, so no two words give the same product.
inline constexpr uint64_t kHashFactor = 0x9e3779b97f4a7c15;

}  // namespace acre
