// pages/huge_pages: where memory is large and dense.
#include "pages/huge_pages.h"

#include <sys/mman.h>

#include <vector>

#include "page_heap_support.h"
#include "tables/options.h"

namespace acre {
namespace {

constexpr size_t kRunPages = 8;
constexpr size_t kEnoughPages = (size_t{32} << 20) / kPageBytes;
constexpr uint64_t kBegin = 100000;

size_t resident_pages(Address start, size_t bytes) {
  std::vector<unsigned char> in(bytes / kPageBytes);
  EXPECT_EQ(mincore(pointer_to(start), bytes, in.data()), 0);
  size_t pages = 0;
  for (unsigned char page : in) pages += page & 1;
  return pages;
}

class HugePagesTest : public test::PageHeapTest {
 protected:
  void SetUp() override {
    if (!os::has_huge_pages()) GTEST_SKIP() << "the system makes no transparent huge pages";
    if (!test::window_is_open()) GTEST_SKIP() << "the window is full, or something lies in the way";
    huge_pages::are_wanted(kEnoughPages, 0);  // looks whether the system has them
  }
  // So many pages in use, none of them dirty before.
  void fill(size_t pages) {
    if (pages > kLargest) allocate(pages - kLargest);
    allocate(smaller(pages, kLargest));
  }
  // A huge page of which all is in use, as one run.
  PageRun* whole_huge_page() {
    PageRun* run = allocate(kPagesPerHugePage, kPagesPerHugePage);
    huge_pages::populate(run->base);
    return run;
  }
  // Leaves `pages` of a run free and dirty, at its end.
  void free_end(PageRun* run, size_t pages) { heap.shrink_in_place(run, run->pages - pages); }
  void let_all_decay() {
    heap.set_dirty_decay_ms(1000);
    for (uint64_t now = kBegin; now < kBegin + 3000; now += 10) heap.decay(now);
  }

  static constexpr size_t kLargest = size_t{16} << 10;
};

TEST_F(HugePagesTest, ASmallArenaGetsNone) {
  fill(kEnoughPages - 2 * kRunPages);
  PageRun* run = allocate(kRunPages);
  EXPECT_TRUE(run->fresh);
  EXPECT_EQ(heap.counts().dirty, 0u);
  EXPECT_EQ(resident_pages(run->base, run->bytes()), 0u);
}

TEST_F(HugePagesTest, ALargeOneGetsOneAtATime) {
  fill(kEnoughPages);
  PageRun* run = allocate(kRunPages);
  EXPECT_FALSE(run->fresh);
  EXPECT_TRUE(is_aligned(run->base, kHugePageBytes));
  EXPECT_EQ(resident_pages(run->base, kHugePageBytes), kPagesPerHugePage);
  EXPECT_EQ(heap.counts().dirty, kPagesPerHugePage - kRunPages);
  for (size_t used = 2 * kRunPages; used <= kPagesPerHugePage; used += kRunPages) {
    allocate(kRunPages);
    EXPECT_EQ(heap.counts().dirty, kPagesPerHugePage - used) << "it is used up first";
  }
}

// Pages in use that may never have been touched do not count, such as those of many threads' current runs.
TEST_F(HugePagesTest, WhatMayBeUntouchedDoesNotCount) {
  heap.set_perhaps_untouched(2 * kRunPages);
  fill(kEnoughPages);
  EXPECT_TRUE(allocate(kRunPages)->fresh);
  heap.set_perhaps_untouched(2 * kEnoughPages);
  EXPECT_TRUE(allocate(kRunPages)->fresh);
  EXPECT_EQ(heap.counts().dirty, 0u);
  heap.set_perhaps_untouched(kRunPages);
  EXPECT_FALSE(allocate(kRunPages)->fresh);
}

TEST_F(HugePagesTest, NoneForLargerBlocks) {
  fill(kEnoughPages);
  PageRun* run = allocate(kEnoughPages / 64);
  EXPECT_TRUE(run->fresh);
  EXPECT_EQ(heap.counts().dirty, 0u);
}

TEST_F(HugePagesTest, NoneWhereMuchIsFree) {
  fill(kEnoughPages);
  std::vector<PageRun*> scattered;
  for (size_t i = 0; i < kEnoughPages / 8; ++i) {
    scattered.push_back(allocate(1));
    allocate(1);
  }
  heap.purge_to(0);
  for (PageRun* run : scattered) heap.free(run, true);
  const size_t dirty = heap.counts().dirty;
  ASSERT_EQ(dirty, kEnoughPages / 8);
  const PageRun* run = allocate(kRunPages);  // no dirty run is as long
  EXPECT_TRUE(run->fresh);
  EXPECT_EQ(heap.counts().dirty, dirty);
}

TEST_F(HugePagesTest, ARefusalIsNoHarm) {
  fill(kEnoughPages);
  os::testing::refuse_requests(0, 1);
  PageRun* run = allocate(kRunPages);
  os::testing::refuse_nothing();
  touch(run);
  allocate(kRunPages);
}

TEST_F(HugePagesTest, DecayLeavesOneThatIsMostlyInUse) {
  fill(kEnoughPages);
  PageRun* run = whole_huge_page();
  free_end(run, kPagesPerHugePage / 4);
  let_all_decay();
  EXPECT_EQ(heap.counts().dirty, kPagesPerHugePage / 4);
  EXPECT_EQ(heap.next_decay(kBegin + 3000), kNever) << "nor is there anything to wait for";
  heap.purge_to(0);
  EXPECT_EQ(heap.counts().dirty, 0u) << "unless it is asked for";
}

TEST_F(HugePagesTest, AndBreaksOneThatIsMostlyFree) {
  fill(kEnoughPages);
  PageRun* run = whole_huge_page();
  free_end(run, kPagesPerHugePage * 3 / 4);
  let_all_decay();
  EXPECT_EQ(heap.counts().dirty, 0u);
  EXPECT_EQ(resident_pages(run->base, kHugePageBytes), kPagesPerHugePage / 4);
  // What is left of it is no huge page.
  free_end(run, kPagesPerHugePage / 8);
  let_all_decay();
  EXPECT_EQ(heap.counts().dirty, 0u);
}

TEST_F(HugePagesTest, OfARunOverSeveralTheOnesMostlyInUseStay) {
  fill(kEnoughPages);
  PageRun* low = allocate(2 * kPagesPerHugePage, kPagesPerHugePage);
  const Address start = low->base;
  huge_pages::populate(start);
  huge_pages::populate(start + kHugePageBytes);
  free_end(low, kPagesPerHugePage + 16);  // 16 pages of the first, all of the second
  let_all_decay();
  EXPECT_EQ(heap.counts().dirty, 16u);
  EXPECT_EQ(resident_pages(start, kHugePageBytes), kPagesPerHugePage);
  EXPECT_EQ(resident_pages(start + kHugePageBytes, kHugePageBytes), 0u);
}

TEST_F(HugePagesTest, NoMoreIsSparedThanAPartOfWhatIsInUse) {
  fill(kEnoughPages);
  for (int i = 0; i < 16; ++i) free_end(whole_huge_page(), kPagesPerHugePage / 4);
  let_all_decay();
  const PageCounts counts = heap.counts();
  EXPECT_GT(counts.dirty, 0u);
  EXPECT_LE(counts.dirty, huge_pages::most_spared(counts.used));
}

TEST_F(HugePagesTest, WholeOnesGoFirst) {
  PageRun* old = allocate(kPagesPerHugePage / 2);
  PageRun* whole = allocate(2 * kPagesPerHugePage, kPagesPerHugePage);
  const Address at_old = old->base, at_whole = whole->base;
  allocate(1);
  for (PageRun* run : {old, whole}) {
    touch(run);
    heap.free(run, true);
  }
  heap.purge_to(heap.counts().dirty - kPagesPerHugePage);
  EXPECT_EQ(resident_pages(at_old, kHugePageBytes / 2), kPagesPerHugePage / 2);
  EXPECT_EQ(resident_pages(at_whole, kHugePageBytes), 0u);
  EXPECT_EQ(resident_pages(at_whole + kHugePageBytes, kHugePageBytes), kPagesPerHugePage);
  heap.purge_to(16);
  EXPECT_EQ(heap.counts().dirty, 16u) << "and what is no whole one after them";
}

TEST_F(HugePagesTest, ButNotYoungOnesBeforeAllOthers) {
  std::vector<PageRun*> old;
  for (int i = 0; i < 24; ++i) {
    old.push_back(allocate(64));
    allocate(1);
  }
  PageRun* young = allocate(kPagesPerHugePage, kPagesPerHugePage);
  for (PageRun* run : old) heap.free(run, true);
  touch(young);
  heap.free(young, true);
  heap.purge_to(heap.counts().dirty - kPagesPerHugePage);
  EXPECT_EQ(resident_pages(young->base, kHugePageBytes), kPagesPerHugePage);
}

TEST_F(HugePagesTest, AWholeOneThatIsFreeGoesAsOne) {
  fill(kEnoughPages);
  PageRun* run = whole_huge_page();
  const Address start = run->base;
  heap.free(run, true);
  heap.purge_to(heap.counts().dirty - 1);
  EXPECT_EQ(resident_pages(start, kHugePageBytes), 0u);
  EXPECT_EQ(heap.counts().dirty, 0u);
}

TEST_F(HugePagesTest, AlwaysTakesAllChunksForWhole) {
  const int64_t before = option_value(index_of(Option::huge_pages));
  set_option(index_of(Option::huge_pages), static_cast<int64_t>(HugePages::kAll), OptionSource::kRunTime);
  fill(kEnoughPages);
  PageRun* run = allocate(2 * kPagesPerHugePage, kPagesPerHugePage);
  touch(run);
  free_end(run, kPagesPerHugePage + kPagesPerHugePage / 4);
  let_all_decay();
  EXPECT_EQ(heap.counts().dirty, kPagesPerHugePage / 4) << "a quarter of the first one, which is mostly in use";
  // The second one went as a whole, and comes again as one.
  PageRun* next = allocate(kPagesPerHugePage, kPagesPerHugePage);
  EXPECT_EQ(next->base, run->base + kHugePageBytes);
  touch(next);
  free_end(next, kPagesPerHugePage / 8);
  let_all_decay();
  EXPECT_EQ(heap.counts().dirty, kPagesPerHugePage / 4 + kPagesPerHugePage / 8);
  set_option(index_of(Option::huge_pages), before, OptionSource::kRunTime);
}

TEST_F(HugePagesTest, WhatIsFreeAgainIsFoundInTheRange) {
  PageRun* run = whole_huge_page();
  const Address start = run->base, end = run->end();
  const Address little = 4 * kPageBytes;
  huge_pages::Range part = huge_pages::without_broken({start + little, end}, kHugePageBytes / 2);
  EXPECT_EQ(part.start, start + little) << "most of it is free";
  part = huge_pages::without_broken({end - little, end + little}, kHugePageBytes / 2);
  EXPECT_EQ(part.start, end) << "the next one is none";
  EXPECT_EQ(part.end, end + little);
  part = huge_pages::without_broken({start + little, start + 2 * little}, kHugePageBytes / 2);
  EXPECT_GE(part.start, part.end);
  huge_pages::forget({start + little, start + 2 * little});
  part = huge_pages::without_broken({start + little, start + 2 * little}, kHugePageBytes / 2);
  EXPECT_EQ(part.start, start + little);
  EXPECT_EQ(part.end, start + 2 * little);
}

}  // namespace
}  // namespace acre
