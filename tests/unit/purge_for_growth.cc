// pages/purge_for_growth: dirty runs that are too short go when the process would have to grow.
#include "pages/purge_for_growth.h"

#include "pages/huge_pages.h"

#include "page_heap_support.h"

namespace acre {
namespace {

// A process with one arena.
class PurgeForGrowthTest : public test::PageHeapTest {
 protected:
  PageRun* allocate(size_t pages, size_t align_pages = 1) {
    PageRun* run = PageHeapTest::allocate(pages, align_pages);
    if (!run->fresh) return run;
    const PageCounts counts = heap.counts();
    const size_t dirty = counts.dirty + counts.muzzy;
    heap.purge_for_growth(rule.pages_to_purge(pages, counts.used + dirty, dirty));
    return run;
  }

  // Leaves so many pages dirty, between runs in use.
  void leave_dirty(size_t pages) {
    PageRun* run = allocate(pages);
    allocate(1);
    touch(run);
    heap.free(run, true);
  }

  PurgeForGrowth rule;
};

TEST_F(PurgeForGrowthTest, DirtyRunsGoWhenCleanPagesAreTaken) {
  leave_dirty(200);
  allocate(300);
  EXPECT_EQ(heap.counts().dirty, 0u);
}

TEST_F(PurgeForGrowthTest, NoneForWhatIsShort) {
  leave_dirty(20);
  for (int i = 0; i < 100; ++i) allocate(30);
  EXPECT_EQ(heap.counts().dirty, 20u);
}

TEST_F(PurgeForGrowthTest, NoMoreOfThemThanTheProcessWouldGrowBy) {
  PageRun* one = allocate(200);
  allocate(1);
  PageRun* other = allocate(400);
  allocate(1);
  heap.free(one, true);
  heap.free(other, true);
  allocate(410);
  EXPECT_EQ(heap.counts().dirty, 600u - 410);
}

TEST_F(PurgeForGrowthTest, AllStayWhileLessIsHeldThanEverWas) {
  PageRun* before = allocate(1000);
  heap.free(before, true);
  heap.purge_to(0);
  leave_dirty(200);
  allocate(300);
  EXPECT_EQ(heap.counts().dirty, 200u);
}

TEST_F(PurgeForGrowthTest, MuzzyOnesGoFirst) {
  heap.set_muzzy_decay_ms(1000000);
  leave_dirty(200);
  heap.set_dirty_decay_ms(0);
  heap.decay(100000);
  heap.set_dirty_decay_ms(10000);
  if (heap.counts().muzzy == 0) GTEST_SKIP() << "no MADV_FREE here";
  leave_dirty(300);
  allocate(310);
  EXPECT_EQ(heap.counts().muzzy, 0u);
}

// Two hundred pages that went had to be faulted in again: more than an eighth of what was ever held, less than a quarter.
TEST_F(PurgeForGrowthTest, OneRegretIsNoReasonToStop) {
  leave_dirty(200);
  PageRun* one = allocate(500);
  allocate(1);
  PageRun* other = allocate(500);
  allocate(1);
  heap.free(one, true);
  heap.free(other, true);
  allocate(600);
  EXPECT_EQ(heap.counts().dirty, 1000u - 600);
}

// Blocks of all lengths that come and go at random: the process does not grow by what is too short, but after a while
// that is given up.
TEST_F(PurgeForGrowthTest, WhatIsNeededAgainSoonStays) {
  test::Random random(1);
  PageRun* live[60] = {};
  size_t taken = 0;
  for (int i = 0; i < 20000; ++i) {
    PageRun*& run = live[random.below(60)];
    if (run != nullptr) heap.free(run, true);
    run = allocate(random.between(100, 1000));
    taken += run->pages;
  }
  EXPECT_GT(heap.counts().purged, 0u);
  EXPECT_LE(heap.counts().purged, heap.counts().obtained);
  EXPECT_GT(taken, heap.counts().obtained * 100);
}

TEST_F(PurgeForGrowthTest, HugePagesStayWhole) {
  if (!os::has_huge_pages()) GTEST_SKIP() << "the system makes no transparent huge pages";
  if (!test::window_is_open()) GTEST_SKIP() << "the window is full, or something lies in the way";
  huge_pages::are_wanted(1 << 20, 0);
  PageRun* run = allocate(kPagesPerHugePage, kPagesPerHugePage);
  huge_pages::populate(run->base);
  heap.shrink_in_place(run, 16);
  const size_t dirty = heap.counts().dirty;
  ASSERT_EQ(dirty, kPagesPerHugePage - 16);
  allocate(kPagesPerHugePage);
  EXPECT_EQ(heap.counts().dirty, dirty);
}

}  // namespace
}  // namespace acre
