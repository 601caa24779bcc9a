// pages/release_rate: so many bytes a second, by a clock of the test's own.
#include "pages/release_rate.h"

#include <gtest/gtest.h>

#include "support.h"

namespace acre {
namespace {

constexpr uint64_t kMinuteMs = 60000;

// Time goes on from test to test, since the budget does.
class ReleaseRate : public testing::Test {
 protected:
  void SetUp() override { now = start += kMinuteMs; }
  void TearDown() override { release_rate::set(release_rate::kByDecay); }

  // 400 pages that are dirty.
  PageHeap& dirty_heap() {
    PageHeap& heap = test::new_page_heap();
    PageRun* run = heap.allocate(400, 1);
    memset(pointer_to(run->base), 1, run->bytes());
    heap.free(run, true);
    return heap;
  }

  static inline uint64_t start = 1000000;
  uint64_t now = 0;
};

TEST_F(ReleaseRate, TakesASecondsWorthASecond) {
  release_rate::set(100 * kPageBytes);
  EXPECT_EQ(release_rate::take(now, 1000000), 100u) << "no more than that has added up";
  EXPECT_EQ(release_rate::take(now, 1000000), 0u);
  size_t taken = 0;
  for (int step = 0; step < 1000; ++step) taken += release_rate::take(now += 10, 1000000);
  EXPECT_EQ(taken, 1000u);
  EXPECT_EQ(release_rate::take(now + 500, 20), 20u);
  EXPECT_EQ(release_rate::take(now + 500, 1000000), 30u) << "what nobody took is there";
}

TEST_F(ReleaseRate, SlowAndFast) {
  release_rate::set(1000);
  EXPECT_EQ(release_rate::take(now, 10), 1u) << "less than a page a second";
  EXPECT_EQ(release_rate::next(now), now + 4096);
  EXPECT_EQ(release_rate::take(now + 4095, 10), 0u);
  EXPECT_EQ(release_rate::take(now + 4096, 10), 1u);
  now += 4096;
  release_rate::set(release_rate::get() * 10);
  EXPECT_EQ(release_rate::take(now + 1000, 10), 2u);
  EXPECT_GT(release_rate::next(now + 1000), now + 1000);
  release_rate::set(int64_t{1} << 50);
  EXPECT_EQ(release_rate::take(now + 5000, SIZE_MAX), (size_t{1} << 50) / kPageBytes);
}

TEST_F(ReleaseRate, TakesThePlaceOfTheCurve) {
  PageHeap& heap = dirty_heap();
  heap.set_dirty_decay_ms(100);
  heap.decay(now);
  release_rate::set(200 * kPageBytes);
  EXPECT_LE(heap.next_decay(now), now + 1000);
  heap.decay(now);
  EXPECT_EQ(heap.counts().dirty, 200u);
  for (int step = 0; step < 20; ++step) heap.decay(now += 50);
  EXPECT_EQ(heap.counts().dirty, 0u);
  EXPECT_EQ(heap.next_decay(now), kNever);
}

TEST_F(ReleaseRate, ZeroIsNever) {
  PageHeap& heap = dirty_heap();
  heap.set_dirty_decay_ms(0);
  release_rate::set(0);
  heap.decay(now);
  EXPECT_EQ(heap.counts().dirty, 400u);
  EXPECT_EQ(heap.next_decay(now), kNever);
  release_rate::set(release_rate::kByDecay);
  heap.decay(now);
  EXPECT_EQ(heap.counts().dirty, 0u);
}

}  // namespace
}  // namespace acre
