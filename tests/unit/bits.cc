// base/bits and base/units against their definitions.
#include "base/bits.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace acre {
namespace {

TEST(Bits, PowersOfTwo) {
  EXPECT_FALSE(is_power_of_two(0));
  for (unsigned i = 0; i < 64; ++i) {
    const uint64_t power = uint64_t{1} << i;
    EXPECT_TRUE(is_power_of_two(power));
    EXPECT_EQ(floor_log2(power), i);
    EXPECT_EQ(lowest_bit(power), i);
    EXPECT_EQ(largest_power_of_two_in(power), power);
    for (unsigned j = 0; j < i; ++j) {
      const uint64_t both = power | uint64_t{1} << j;
      EXPECT_FALSE(is_power_of_two(both));
      EXPECT_EQ(floor_log2(both), i);
      EXPECT_EQ(lowest_bit(both), j);
      EXPECT_EQ(largest_power_of_two_in(both), uint64_t{1} << j);
    }
  }
  EXPECT_EQ(floor_log2(UINT64_MAX), 63u);
}

TEST(Units, Rounding) {
  for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (size_t n = 0; n < 3 * alignment && n < 5000; ++n) {
      EXPECT_EQ(align_down(n, alignment), n / alignment * alignment);
      EXPECT_EQ(align_up(n, alignment), (n + alignment - 1) / alignment * alignment);
      EXPECT_EQ(is_aligned(n, alignment), n % alignment == 0);
    }
  }
  EXPECT_EQ(pages_for(0), 0u);
  EXPECT_EQ(pages_for(1), 1u);
  EXPECT_EQ(pages_for(kPageBytes), 1u);
  EXPECT_EQ(pages_for(kPageBytes + 1), 2u);
  EXPECT_EQ(align_up(size_t{PTRDIFF_MAX}, kPageBytes), size_t{PTRDIFF_MAX} + 1);
}

TEST(Units, SmallerAndLarger) {
  EXPECT_EQ(smaller(3, 5), 3);
  EXPECT_EQ(larger(3, 5), 5);
  EXPECT_EQ(smaller<size_t>(SIZE_MAX, 0), 0u);
  EXPECT_EQ(larger<size_t>(SIZE_MAX, 0), SIZE_MAX);
}

}  // namespace
}  // namespace acre
