// tables/size_class: the claims of its derivation, for every size and every class.
#include "tables/size_class.h"

#include <gtest/gtest.h>

#include "acre/acre.h"

namespace acre {
namespace {

TEST(SizeClass, EverySizeGoesToTheSmallestClassThatHoldsIt) {
  SizeClass c = 0;
  for (size_t n = 0; n <= kSmallMax; ++n) {
    if (n > size_of_class(c)) ++c;
    ASSERT_EQ(class_of_size(n), c) << n;
  }
  EXPECT_EQ(c, kSmallClasses - 1);
  EXPECT_EQ(size_of_class(c), kSmallMax);
}

TEST(SizeClass, ClassesAscend) {
  EXPECT_EQ(size_of_class(0), 8u);
  EXPECT_EQ(size_of_class(1), 16u);
  for (SizeClass c = 1; c < kSmallClasses; ++c) EXPECT_GT(size_of_class(c), size_of_class(c - 1));
}

TEST(SizeClass, Waste) {
  for (size_t n = 1; n <= kSmallMax; ++n) {
    const size_t waste = size_of_class(class_of_size(n)) - n;
    if (n <= kSpacedFrom) {
      ASSERT_LE(waste, 15u) << n;
    } else {
      ASSERT_LE(waste * 8, size_of_class(class_of_size(n))) << n;  // 12.5 % of the block
    }
  }
}

// A page of 4 KiB and a header, as sqlite has them, or a node of 2 KiB and one: no seventh or eighth more.
TEST(SizeClass, PowersOfTwoWithAHeader) {
  EXPECT_EQ(size_of_class(class_of_size(2048 + 128)), 2176u);
  EXPECT_EQ(size_of_class(class_of_size(4096 + 272)), 4368u);
  EXPECT_EQ(run_shape(class_of_size(4096 + 272)).capacity, 15u);
  for (size_t power = 8; power <= kSmallMax; power *= 2) EXPECT_EQ(size_of_class(class_of_size(power)), power);
}

TEST(SizeClass, SharesOfARun) {
  for (SizeClass c = class_of_size(kSharesFrom + 1); size_of_class(c) <= kSharesTo; ++c) {
    SCOPED_TRACE(size_of_class(c));
    const RunShape& shape = run_shape(c);
    const size_t run = shape.pages * kPageBytes;
    EXPECT_EQ(run % kUnitPayload, 0u) << "nothing is left of its units that others could not use";
    EXPECT_LE(run, 2 * kUnitPayload);
    EXPECT_LE((run - shape.capacity * size_of_class(c)) * 50, run);
    const SizeClass aligned = class_for_aligned(size_of_class(c - 1) + 1, 64);
    EXPECT_LE(size_of_class(aligned), size_of_class(c + 1)) << "a cache line";
  }
}

// Blocks lie at multiples of their size from a run's start, which is aligned to a unit.
TEST(SizeClass, AlignmentOfBlocks) {
  for (SizeClass c = 1; c < kSmallClasses; ++c) {
    EXPECT_GE(largest_power_of_two_in(size_of_class(c)), 16u);
    EXPECT_LE(largest_power_of_two_in(size_of_class(c)), kRunUnitPages * kPageBytes);
  }
}

TEST(SizeClass, RunShapes) {
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    SCOPED_TRACE(size_of_class(c));
    const RunShape& shape = run_shape(c);
    const size_t size = size_of_class(c);
    const size_t run = shape.pages * kPageBytes;
    EXPECT_EQ(shape.block_bytes, size);
    EXPECT_LE(shape.capacity * size, run);
    EXPECT_EQ(run % kUnitPayload, 0u) << "free, it would fit few others";
    EXPECT_LT(run - shape.capacity * size, size) << "room for one more";
    EXPECT_GE(shape.capacity, kLeastBlocks);
    EXPECT_LE(run, kMostUnits * kUnitPayload);
    if (size * kLeastBlocks <= kUnitPayload && rest_permille(size, 1) <= kAcceptedPermille) {
      EXPECT_LE(run, kUnitPayload) << "free finds one-unit runs by their place";
    }
    EXPECT_LE((run - shape.capacity * size) * 10, run) << "more than a tenth of its units unused";
    EXPECT_GE(shape.enough, 1);
    EXPECT_LE(shape.enough, larger(1, shape.capacity / 8));
    EXPECT_GE(shape.enough_to_stay, 1);
    EXPECT_LE(shape.enough_to_stay, shape.enough);
    EXPECT_GE(shape.first_batch, 1);
    EXPECT_LE(shape.first_batch, shape.capacity);
    EXPECT_LE(shape.first_batch * size, larger(size, kPageBytes));
  }
}

TEST(SizeClass, AlignedRequests) {
  for (size_t alignment = 1; alignment <= size_t{1} << 20; alignment *= 2) {
    SizeClass last = 0;
    for (size_t n = 0; n <= kSmallMax + 4096; n += n < 1024 ? 1 : 7) {
      const SizeClass c = class_for_aligned(n, alignment);
      if (n > kSmallMax || alignment > kSmallMax) {
        ASSERT_EQ(c, kSmallClasses);
        continue;
      }
      ASSERT_LT(c, kSmallClasses) << n << " at " << alignment;  // 32 KiB is a multiple of all of them
      ASSERT_GE(size_of_class(c), n);
      ASSERT_EQ(size_of_class(c) % alignment, 0u);
      ASSERT_GE(c, last) << "a larger request got a smaller class";
      for (SizeClass smaller_class = class_of_size(n); smaller_class < c; ++smaller_class) {
        ASSERT_NE(size_of_class(smaller_class) % alignment, 0u) << n << " at " << alignment << ": a smaller one";
      }
      last = c;
    }
  }
}

TEST(SizeClass, WhatTheApiSays) {
  acre_size_class info;
  for (unsigned c = 0; c < kSmallClasses; ++c) {
    ASSERT_EQ(acre_size_class_info(c, &info), 0);
    EXPECT_EQ(info.size, size_of_class(c));
    EXPECT_EQ(info.blocks, run_shape(c).capacity);
    EXPECT_EQ(info.run_bytes, run_shape(c).pages * kPageBytes);
    EXPECT_EQ(info.size % info.alignment, 0u);
    EXPECT_EQ(class_of_size(info.smallest_request), c);
    if (info.smallest_request != 0) {
      EXPECT_EQ(class_of_size(info.smallest_request - 1), c - 1);
    }
  }
  EXPECT_EQ(acre_size_class_info(kSmallClasses, &info), -1);
}

}  // namespace
}  // namespace acre
