// pages/huge: blocks that are mappings of their own.
#include "pages/huge.h"

#include <gtest/gtest.h>

#include "os/os.h"
#include "pages/page_map.h"
#include "support.h"

namespace acre {
namespace {

void stamp(const PageRun* run) {
  for (Address a = run->base; a < run->end(); a += kPageBytes) *static_cast<Address*>(pointer_to(a)) = a - run->base + 1;
}
bool is_stamped(const PageRun* run, size_t bytes) {
  for (size_t offset = 0; offset < bytes; offset += kPageBytes) {
    if (*static_cast<size_t*>(pointer_to(run->base + offset)) != offset + 1) return false;
  }
  return true;
}

TEST(Huge, AlignedZeroedAndFound) {
  const huge::Counts before = huge::counts();
  for (size_t alignment = kPageBytes; alignment <= size_t{1} << 30; alignment *= 4) {
    for (size_t bytes : {size_t{1}, kMiB, 65 * kMiB + 5}) {
      PageRun* run = huge::allocate(bytes, alignment);
      ASSERT_NE(run, nullptr);
      ASSERT_TRUE(is_aligned(run->base, alignment));
      ASSERT_GE(run->bytes(), bytes);
      ASSERT_LT(run->bytes(), bytes + os::page_bytes());
      EXPECT_EQ(run->kind, RunKind::kHuge);
      EXPECT_TRUE(run->fresh);
      EXPECT_EQ(g_page_map.find(pointer_to(run->base)), run);
      EXPECT_EQ(g_page_map.find(pointer_to(run->end() - 1)), run);
      EXPECT_EQ(g_page_map.find_covering(pointer_to(run->base + run->bytes() / 2)), run);
      for (Address a : {run->base, run->end() - kPageBytes}) {
        EXPECT_TRUE(test::all_zero(pointer_to(a), kPageBytes));
      }
      EXPECT_EQ(huge::counts().blocks, before.blocks + 1);
      EXPECT_EQ(huge::counts().bytes, before.bytes + run->bytes());
      const Address base = run->base;
      huge::free(run);
      EXPECT_EQ(g_page_map.find(pointer_to(base)), nullptr);
    }
  }
  EXPECT_EQ(huge::counts().blocks, before.blocks);
  EXPECT_EQ(huge::counts().bytes, before.bytes);
}

TEST(Huge, ShrinksAndGrowsKeepingItsContents) {
  const huge::Counts before = huge::counts();
  PageRun* run = huge::allocate(20 * kMiB, kPageBytes);
  ASSERT_NE(run, nullptr);
  stamp(run);
  const Address base = run->base;
  ASSERT_TRUE(huge::resize_in_place(run, 7 * kMiB));
  EXPECT_EQ(run->base, base);
  EXPECT_EQ(run->bytes(), 7 * kMiB);
  EXPECT_TRUE(is_stamped(run, 7 * kMiB));
  EXPECT_EQ(g_page_map.find(pointer_to(base + 7 * kMiB - 1)), run);
  EXPECT_EQ(g_page_map.find(pointer_to(base + 20 * kMiB - 1)), nullptr);
  EXPECT_EQ(huge::counts().bytes, before.bytes + 7 * kMiB);

  if (huge::resize_in_place(run, 9 * kMiB)) {
    EXPECT_TRUE(test::all_zero(pointer_to(base + 7 * kMiB), 2 * kMiB));
  }
  PageRun* moved = huge::grow_elsewhere(run, 40 * kMiB);
  ASSERT_NE(moved, nullptr);
  EXPECT_NE(moved->base, base);
  EXPECT_EQ(moved->bytes(), 40 * kMiB);
  EXPECT_TRUE(is_stamped(moved, 7 * kMiB));
  EXPECT_TRUE(test::all_zero(pointer_to(moved->base + 9 * kMiB), 31 * kMiB));
  EXPECT_EQ(g_page_map.find(pointer_to(base)), nullptr);
  EXPECT_EQ(g_page_map.find(pointer_to(moved->base)), moved);
  EXPECT_EQ(huge::counts().bytes, before.bytes + 40 * kMiB);
  EXPECT_EQ(huge::counts().blocks, before.blocks + 1);
  huge::free(moved);
  EXPECT_EQ(huge::counts().bytes, before.bytes);
}

TEST(Huge, SomethingInTheWay) {
  PageRun* low = huge::allocate(4 * kMiB, kPageBytes);
  ASSERT_NE(low, nullptr);
  stamp(low);
  void* wall = os::map_at(low->end(), kPageBytes);  // null: there is something already
  EXPECT_FALSE(huge::resize_in_place(low, 8 * kMiB));
  EXPECT_EQ(low->bytes(), 4 * kMiB);
  EXPECT_TRUE(is_stamped(low, 4 * kMiB));
  EXPECT_EQ(g_page_map.find(pointer_to(low->end() - 1)), low);
  if (wall != nullptr) os::unmap(wall, kPageBytes);
  huge::free(low);
}

TEST(Huge, RefusedAtEachRequestNothingChanges) {
  const huge::Counts before = huge::counts();
  os::testing::refuse_requests(0, 1);
  EXPECT_EQ(huge::allocate(kMiB, kPageBytes), nullptr);
  os::testing::refuse_nothing();
  PageRun* run = huge::allocate(4 * kMiB, kPageBytes);
  ASSERT_NE(run, nullptr);
  stamp(run);
  const Address base = run->base;
  for (long allowed = 0; allowed < 2; ++allowed) {
    os::testing::refuse_requests(allowed, 1000);
    EXPECT_EQ(huge::grow_elsewhere(run, 8 * kMiB), nullptr);
    EXPECT_FALSE(allowed == 0 && huge::resize_in_place(run, 8 * kMiB));
    os::testing::refuse_nothing();
    EXPECT_EQ(run->base, base);
    EXPECT_EQ(run->bytes(), 4 * kMiB);
    EXPECT_TRUE(is_stamped(run, 4 * kMiB));
    EXPECT_EQ(g_page_map.find(pointer_to(base)), run);
    EXPECT_EQ(g_page_map.find(pointer_to(run->end() - 1)), run);
  }
  huge::free(run);
  EXPECT_EQ(huge::counts().blocks, before.blocks);
  EXPECT_EQ(huge::counts().bytes, before.bytes);
}

TEST(Huge, ImpossibleSizes) {
  EXPECT_EQ(huge::allocate(size_t{PTRDIFF_MAX}, kPageBytes), nullptr);
  EXPECT_EQ(huge::allocate(size_t{PTRDIFF_MAX}, size_t{1} << 62), nullptr);
  EXPECT_EQ(huge::allocate(size_t{1} << 47, kPageBytes), nullptr);
}

// 2^32 pages: more than a 32-bit count of pages holds.
TEST(Huge, ABlockOf16TiBKnowsItsSize) {
  constexpr size_t k16TiB = size_t{1} << 44;
  PageRun* run = huge::allocate(k16TiB, kPageBytes);
  if (run == nullptr) return;  // the kernel would not give so much
  EXPECT_EQ(run->bytes(), k16TiB);
}

}  // namespace
}  // namespace acre
