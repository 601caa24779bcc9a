#pragma once

#include <cstddef>
#include <cstdint>

namespace acre {

constexpr bool is_power_of_two(uint64_t n) { return n != 0 && (n & (n - 1)) == 0; }

// Position of the highest set bit; n must not be 0.
constexpr unsigned floor_log2(uint64_t n) { return 63u - static_cast<unsigned>(__builtin_clzll(n)); }

// Position of the lowest set bit; n must not be 0.
constexpr unsigned lowest_bit(uint64_t n) { return static_cast<unsigned>(__builtin_ctzll(n)); }

// The largest power of two that divides n; n must not be 0.
constexpr uint64_t largest_power_of_two_in(uint64_t n) { return n & (~n + 1); }

}  // namespace acre
