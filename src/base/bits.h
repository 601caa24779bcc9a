#pragma once

#include <cstddef>
#include <cstdint>

#include "base/compiler.h"

namespace acre {

constexpr bool is_power_of_two(uint64_t n) { return n != 0 && (n & (n - 1)) == 0; }

// Position of the highest set bit; n must not be 0.
constexpr unsigned floor_log2(uint64_t n) { return 63u - static_cast<unsigned>(__builtin_clzll(n)); }

// Position of the lowest set bit; n must not be 0.
constexpr unsigned lowest_bit(uint64_t n) { return static_cast<unsigned>(__builtin_ctzll(n)); }

// The largest power of two that divides n; n must not be 0.
constexpr uint64_t largest_power_of_two_in(uint64_t n) { return n & (~n + 1); }

// Whether the number, which lies in memory, is above zero. In two instructions, where compilers take three.
ACRE_ALWAYS_INLINE bool is_positive(const int32_t& number) {
#if defined(__x86_64__)
  bool is;
  asm("cmpl $0, %1" : "=@ccg"(is) : "m"(number));
  return is;
#else
  return number > 0;
#endif
}

// Takes one off. Returns false, and leaves the number as it was, if there was none. In two instructions, where
// compilers take three or more.
ACRE_ALWAYS_INLINE bool take_one(int32_t& number) {
#if defined(__x86_64__)
  bool below;
  asm("subl $1, %0" : "+m"(number), "=@ccs"(below));
#else
  const bool below = --number < 0;
#endif
  if (ACRE_UNLIKELY(below)) ++number;
  return !below;
}

}  // namespace acre
