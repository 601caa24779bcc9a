// slab/geometry: which pointers are starts of carved blocks, by definition and by multiplication.
#include "slab/geometry.h"

#include <gtest/gtest.h>

#include "support.h"

namespace acre {
namespace {

constexpr Address kBase = Address{0x7f12} << 32;

void shape_as(Slab* slab, SizeClass c, unsigned carved) {
  slab->base = kBase;
  slab->size_class = static_cast<uint8_t>(c);
  slab->block_bytes = run_shape(c).block_bytes;
  slab->capacity = run_shape(c).capacity;
  slab->divide = kGeometries.geometry[c].divide;
  set_carved(slab, carved);
}

class GeometryOfClass : public testing::TestWithParam<SizeClass> {
 protected:
  const SizeClass c = GetParam();
  const size_t size = size_of_class(c);
  const unsigned capacity = run_shape(c).capacity;
  Slab slab;
};

TEST_P(GeometryOfClass, EveryOffsetInTheRunAndBeyond) {
  const size_t end = run_shape(c).pages * kPageBytes + 2 * kPageBytes;
  for (unsigned carved : {0u, 1u, capacity / 2, capacity - 1, capacity}) {
    shape_as(&slab, c, carved);
    ASSERT_EQ(slab.carved, carved);
    for (size_t offset = 0; offset < end; ++offset) {
      const bool expected = offset % size == 0 && offset / size < carved;
      if (is_block_start(&slab, pointer_to(kBase + offset)) != expected) {
        FAIL() << "offset " << offset << " of " << carved << " blocks";
      }
    }
  }
}

// As far as addresses of programs go: 2^47 on both sides.
TEST_P(GeometryOfClass, FarOffsets) {
  constexpr Address kReach = Address{1} << 47;
  shape_as(&slab, c, capacity);
  test::Random random(c + 1);
  auto no_block = [&](Address p) { return !is_block_start(&slab, pointer_to(p)); };
  for (int i = 0; i < 20000; ++i) {
    const Address distance = random.next() % (kReach >> random.below(40));
    const Address multiple = distance / size * size;
    for (Address offset : {distance, multiple, multiple + 1, multiple + size - 1, multiple + size / 2}) {
      if (offset >= size * capacity) {
        ASSERT_TRUE(no_block(kBase + offset)) << offset;
      }
      if (offset != 0) {
        ASSERT_TRUE(no_block(kBase - offset)) << "-" << offset;
      }
    }
  }
  for (Address p = 0; p < 16; ++p) EXPECT_TRUE(no_block(p));
  for (Address p = size; p < 64 * size; p += size) EXPECT_TRUE(no_block(kBase - p));
}

TEST_P(GeometryOfClass, AHeaderOfNoRunHasNoBlocks) {
  Slab none;
  for (size_t offset = 0; offset < 100000; offset += 8) {
    ASSERT_FALSE(is_block_start(&none, pointer_to(kBase + offset)));
  }
  EXPECT_FALSE(is_block_start(&none, nullptr));
}

TEST_P(GeometryOfClass, BlockIndex) {
  shape_as(&slab, c, capacity);
  for (uint32_t block = 0; block < capacity; ++block) {
    const Address start = kBase + block * size;
    ASSERT_EQ(block_index(&slab, start), block);
    ASSERT_EQ(block_index(&slab, start + size - 1), block);
  }
}

INSTANTIATE_TEST_SUITE_P(Classes, GeometryOfClass, testing::Range(SizeClass{0}, kSmallClasses),
                         [](const auto& test) { return std::to_string(size_of_class(test.param)); });

}  // namespace
}  // namespace acre
