// pages/page_heap: choice of runs, coalescing, growth in place and purge, one case each.
#include "pages/page_heap.h"

#include <gtest/gtest.h>

#include <vector>

#include "os/os.h"
#include "pages/metadata.h"
#include "page_heap_support.h"
#include "tables/options.h"

namespace acre {
namespace {

using test::PageHeapTest;

TEST_F(PageHeapTest, TheFirstRunTakesAChunk) {
  PageRun* run = allocate(3);
  EXPECT_TRUE(run->fresh);
  EXPECT_TRUE(is_zero(run));
  const PageCounts counts = heap.counts();
  EXPECT_GE(counts.obtained, kPagesPerHugePage);
  EXPECT_TRUE(is_aligned(counts.obtained, kPagesPerHugePage));
  EXPECT_EQ(counts.used, 3u);
  EXPECT_EQ(counts.clean, counts.obtained - 3);
  EXPECT_EQ(counts.dirty, 0u);
}

TEST_F(PageHeapTest, TheOptionChunkIsTheStep) {
  constexpr unsigned chunk = index_of(Option::chunk);
  ASSERT_TRUE(set_option(chunk, (7 << 20) + 1, OptionSource::kRunTime));
  allocate(3);
  EXPECT_EQ(heap.counts().obtained, 4 * kPagesPerHugePage) << "rounded up";
  allocate(4 * kPagesPerHugePage);
  EXPECT_EQ(heap.counts().obtained, 8 * kPagesPerHugePage);
  allocate(20 * kPagesPerHugePage);
  EXPECT_GE(heap.counts().obtained, 24 * kPagesPerHugePage) << "more than a step";
  ASSERT_TRUE(set_option(chunk, 0, OptionSource::kDefault));
}

TEST_F(PageHeapTest, WhatWasTouchedIsDirtyWhatWasNotIsClean) {
  PageRun* touched = allocate(3);
  PageRun* untouched = allocate(4);
  heap.free(untouched, false);
  touch(touched);
  heap.free(touched, true);
  EXPECT_EQ(heap.counts().dirty, 3u);
  EXPECT_EQ(heap.dirty_pages(), 3u);
  EXPECT_EQ(heap.counts().clean, heap.counts().obtained - 3);
  EXPECT_EQ(heap.counts().used, 0u);
  PageRun* again = allocate(3);
  EXPECT_FALSE(again->fresh);
  heap.free(again, false);  // not touched this time, but it was dirty before
  EXPECT_EQ(heap.counts().dirty, 3u);
}

TEST_F(PageHeapTest, DirtyBeforeClean) {
  PageRun* first = allocate(8);
  PageRun* fence = allocate(1);
  touch(first);
  const Address base = first->base;
  heap.free(first, true);
  EXPECT_EQ(allocate(5)->base, base) << "though a clean run would fit too";
  EXPECT_EQ(heap.allocate_free(4, 1, true), nullptr) << "three dirty pages are left";
  PageRun* clean = heap.allocate_free(4, 1, false);
  ASSERT_NE(clean, nullptr);
  EXPECT_GT(clean->base, fence->base);
}

TEST_F(PageHeapTest, BestFitAtTheLowestAddress) {
  std::vector<PageRun*> runs;
  for (size_t pages : {9, 1, 4, 1, 4, 1, 20, 1}) runs.push_back(allocate(pages));
  const Address of_four = runs[2]->base;
  const Address next_of_four = runs[4]->base;
  const Address of_twenty = runs[6]->base;
  for (size_t i : {6, 4, 2, 0}) heap.free(runs[i], true);
  EXPECT_EQ(allocate(4)->base, of_four);
  EXPECT_EQ(allocate(3)->base, next_of_four);
  EXPECT_EQ(allocate(10)->base, of_twenty);
}

TEST_F(PageHeapTest, NeighboursCoalesceInAnyOrder) {
  for (int order = 0; order < 6; ++order) {
    static constexpr int kOrders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    PageRun* runs[3] = {allocate(5), allocate(6), allocate(7)};
    PageRun* fence = allocate(1);
    const Address base = runs[0]->base;
    for (int i : kOrders[order]) heap.free(runs[i], true);
    PageRun* whole = heap.allocate_free(18, 1, true);
    ASSERT_NE(whole, nullptr) << "order " << order;
    EXPECT_EQ(whole->base, base);
    heap.free(whole, true);
    heap.free(fence, true);
    ASSERT_EQ(heap.purge_to(0), 19u);
    const size_t obtained = heap.counts().obtained;
    EXPECT_EQ(heap.counts().clean, obtained);
    heap.free(allocate(obtained), false);  // clean pages have coalesced too
    EXPECT_EQ(heap.counts().obtained, obtained);
  }
}

TEST_F(PageHeapTest, AlignedRuns) {
  allocate(1);
  for (size_t align_pages = 1; align_pages <= 512; align_pages *= 2) {
    for (size_t pages : {1u, 15u, 16u, 33u, 500u}) {
      PageRun* run = allocate(pages, align_pages);
      EXPECT_TRUE(is_aligned(run->base, align_pages << kPageShift));
    }
  }
}

TEST_F(PageHeapTest, LargeRunsGetLargeChunks) {
  const size_t most = (size_t{64} << 20) / kPageBytes;
  PageRun* run = allocate(most, 512);
  EXPECT_GE(heap.counts().obtained, most);
  heap.free(run, false);
  EXPECT_EQ(heap.allocate((size_t{2} << 30) / kPageBytes, 1), nullptr) << "more than a chunk can be";
}

TEST_F(PageHeapTest, GrowInPlace) {
  PageRun* run = allocate(4);
  PageRun* neighbour = allocate(4);
  PageRun* fence = allocate(1);
  const Address base = run->base;
  touch(run, 1);
  EXPECT_FALSE(heap.grow_in_place(run, 5)) << "the neighbour is in use";
  heap.free(neighbour, true);
  EXPECT_FALSE(heap.grow_in_place(run, 9)) << "too much";
  EXPECT_EQ(run->pages, 4u);
  ASSERT_TRUE(heap.grow_in_place(run, 6));
  EXPECT_EQ(run->base, base);
  EXPECT_EQ(run->pages, 6u);
  EXPECT_EQ(g_page_map.find(pointer_to(run->end() - 1)), run);
  EXPECT_EQ(heap.counts().dirty, 2u);
  ASSERT_TRUE(heap.grow_in_place(run, 8));
  EXPECT_EQ(heap.counts().dirty, 0u);
  EXPECT_EQ(heap.counts().used, 9u);
  EXPECT_FALSE(heap.grow_in_place(run, 9));
  ASSERT_TRUE(heap.grow_in_place(fence, 100)) << "into clean pages";
  EXPECT_FALSE(fence->fresh);
  heap.free(run, true);
  heap.free(fence, false);
  EXPECT_EQ(heap.counts().dirty, 108u);
}

TEST_F(PageHeapTest, ShrinkInPlace) {
  PageRun* run = allocate(10);
  touch(run);
  const Address base = run->base;
  heap.shrink_in_place(run, 3);
  EXPECT_EQ(run->base, base);
  EXPECT_EQ(run->pages, 3u);
  EXPECT_EQ(g_page_map.find(pointer_to(run->end() - 1)), run);
  EXPECT_EQ(heap.counts().used, 3u);
  EXPECT_EQ(heap.counts().dirty, 7u);
  ASSERT_TRUE(heap.grow_in_place(run, 10));
  EXPECT_EQ(heap.counts().used, 10u);
}

TEST_F(PageHeapTest, PurgeTakesTheOldestFirstAndZeroes) {
  PageRun* runs[3];
  for (PageRun*& run : runs) {
    run = allocate(8);
    touch(run);
    allocate(1);
  }
  const Address bases[3] = {runs[0]->base, runs[1]->base, runs[2]->base};
  for (int i : {1, 0, 2}) heap.free(runs[i], true);
  EXPECT_EQ(heap.purge_to(16), 8u);
  auto is_clean = [&](int i) { return test::all_zero(pointer_to(bases[i]), 8 * kPageBytes); };
  EXPECT_TRUE(is_clean(1));
  EXPECT_FALSE(is_clean(0));
  EXPECT_FALSE(is_clean(2));
  EXPECT_EQ(heap.purge_to(5), 11u) << "a part of the next one";
  EXPECT_EQ(heap.counts().dirty, 5u);
  EXPECT_EQ(heap.purge_to(5), 0u);
  EXPECT_EQ(heap.purge_to(0), 5u);
  EXPECT_EQ(heap.counts().purged, 24u);
  EXPECT_TRUE(is_clean(0));
  EXPECT_TRUE(is_clean(2));
}

TEST_F(PageHeapTest, DecayReturnsEverythingInItsTime) {
  heap.set_dirty_decay_ms(1000);
  heap.decay(5000);
  PageRun* run = allocate(400);
  touch(run);
  heap.free(run, true);
  size_t last = 400;
  for (uint64_t now = 5010; now <= 6010; now += 10) {
    heap.decay(now);
    ASSERT_LE(heap.dirty_pages(), last);
    last = heap.dirty_pages();
    if (now == 5100) {
      EXPECT_GT(last, 380u);
    }
    if (now == 5500) {
      EXPECT_NEAR(static_cast<double>(last), 200, 20);
    }
  }
  EXPECT_EQ(last, 0u);
}

// Between dirty and clean, where muzzy pages have a time of their own.
class MuzzyTest : public PageHeapTest {
 protected:
  void SetUp() override {
    heap.set_dirty_decay_ms(1000);
    heap.set_muzzy_decay_ms(500);
    heap.decay(kBegin);
  }
  PageRun* dirty_run(size_t pages) {
    PageRun* run = allocate(pages);
    touch(run);
    heap.free(run, true);
    return run;
  }
  void decay(uint64_t from, uint64_t to) {
    for (uint64_t now = from; now <= to; now += 10) heap.decay(now);
  }

  static constexpr uint64_t kBegin = 5000;
};

TEST_F(MuzzyTest, DirtyPagesBecomeMuzzyAndThenClean) {
  dirty_run(400);
  decay(kBegin + 10, kBegin + 600);
  const PageCounts half = heap.counts();
  EXPECT_GT(half.dirty, 100u);
  EXPECT_GT(half.muzzy, 100u);
  EXPECT_EQ(half.muzzy + half.purged, half.made_muzzy);
  EXPECT_EQ(heap.muzzy_pages(), half.muzzy);
  decay(kBegin + 610, kBegin + 1010);
  EXPECT_EQ(heap.counts().dirty, 0u);
  EXPECT_GT(heap.counts().muzzy, 0u);
  decay(kBegin + 1020, kBegin + 1600);
  EXPECT_EQ(heap.counts().muzzy, 0u);
  EXPECT_EQ(heap.counts().purged, 400u);
  EXPECT_EQ(heap.counts().made_muzzy, 400u);
  EXPECT_EQ(heap.next_decay(kBegin + 1600), kNever);
}

TEST_F(MuzzyTest, NegativeMeansForEver) {
  heap.set_muzzy_decay_ms(-1);
  EXPECT_EQ(heap.muzzy_decay_ms(), -1);
  EXPECT_EQ(heap.dirty_decay_ms(), 1000);
  dirty_run(100);
  decay(kBegin + 10, kBegin + 5000);
  EXPECT_EQ(heap.counts().muzzy, 100u);
  EXPECT_EQ(heap.next_decay(kBegin + 5000), kNever);
  heap.set_muzzy_decay_ms(0);
  EXPECT_LE(heap.next_decay(kBegin + 5000), kBegin + 5000);
  heap.decay(kBegin + 5000);
  EXPECT_EQ(heap.counts().muzzy, 0u);
  EXPECT_EQ(heap.counts().purged, 100u);
}

TEST_F(MuzzyTest, DirtyBeforeMuzzyBeforeClean) {
  heap.set_muzzy_decay_ms(-1);
  const Address muzzy = dirty_run(8)->base;
  decay(kBegin + 10, kBegin + 1500);
  ASSERT_EQ(heap.counts().muzzy, 8u);
  EXPECT_EQ(heap.allocate_free(8, 1, true), nullptr);
  PageRun* run = allocate(8);
  EXPECT_EQ(run->base, muzzy);
  EXPECT_FALSE(run->fresh) << "it need not read as zeroes";
  touch(run, 1);
  allocate(1);
  heap.free(run, true);
  EXPECT_EQ(heap.counts().dirty, 8u);
  EXPECT_EQ(heap.counts().muzzy, 0u);
}

TEST_F(MuzzyTest, KindsDoNotCoalesceAndRunsGrowIntoBoth) {
  heap.set_muzzy_decay_ms(-1);
  PageRun* run = allocate(2);
  PageRun* second = allocate(3);
  PageRun* third = allocate(4);
  allocate(1);
  touch(second);
  heap.free(second, true);
  decay(kBegin + 10, kBegin + 1500);
  touch(third);
  heap.free(third, true);
  EXPECT_EQ(heap.counts().muzzy, 3u);
  EXPECT_EQ(heap.counts().dirty, 4u);
  ASSERT_TRUE(heap.grow_in_place(run, 4));
  EXPECT_EQ(heap.counts().muzzy, 1u);
  EXPECT_FALSE(heap.grow_in_place(run, 10));
  ASSERT_TRUE(heap.grow_in_place(run, 8)) << "over two runs";
  EXPECT_EQ(heap.counts().muzzy, 0u);
  EXPECT_EQ(heap.counts().dirty, 1u);
}

TEST_F(MuzzyTest, TrimTakesMuzzyPagesFirst) {
  heap.set_muzzy_decay_ms(-1);
  dirty_run(30);
  decay(kBegin + 10, kBegin + 1500);
  PageRun* run = allocate(40);
  touch(run);
  heap.free(run, true);
  ASSERT_EQ(heap.counts().muzzy, 30u);
  ASSERT_EQ(heap.counts().dirty, 40u);
  EXPECT_EQ(heap.purge_to(65), 5u);
  EXPECT_EQ(heap.counts().muzzy, 25u);
  EXPECT_EQ(heap.purge_to(30), 35u);
  EXPECT_EQ(heap.counts().muzzy, 0u);
  EXPECT_EQ(heap.purge_to(0), 30u);
  EXPECT_EQ(heap.counts().dirty, 0u);
}

TEST_F(PageHeapTest, SlabRunsAreInThePageMapPageByPage) {
  PageRun* run = allocate(16, 16);
  Slab slab;
  heap.make_slab(run, &slab);
  EXPECT_EQ(run->kind, RunKind::kSlab);
  EXPECT_EQ(run->slab, &slab);
  const Address base = run->base;
  for (size_t page = 0; page < 16; ++page) EXPECT_EQ(g_page_map.find(pointer_to(base + page * kPageBytes)), run);
  heap.free(run, true);
  for (size_t page = 1; page < 15; ++page) {
    EXPECT_EQ(g_page_map.find(pointer_to(base + page * kPageBytes)), nullptr);
  }
}

// Headers of runs are never unmapped: each that is not given back is memory lost.
TEST_F(PageHeapTest, HeadersAreUsedAgain) {
  PageRun* run = allocate(2);
  size_t metadata = 0;
  for (int round = 0; round < 500; ++round) {
    if (round == 10) metadata = metadata::allocated_bytes();
    PageRun* neighbour = allocate(3);
    PageRun* aligned = allocate(5, 64);
    heap.free(neighbour, round % 2 == 0);
    ASSERT_TRUE(heap.grow_in_place(run, 3));
    ASSERT_TRUE(heap.grow_in_place(run, 5));
    heap.shrink_in_place(run, 2);
    heap.free(aligned, true);
    if (round % 5 == 0) heap.purge_to(static_cast<size_t>(round % 3));
  }
  os::testing::refuse_requests(0, 1000000);
  for (int round = 0; round < 500; ++round) {
    ASSERT_EQ(heap.allocate(heap.counts().obtained + 1, 1), nullptr);
  }
  EXPECT_EQ(metadata::allocated_bytes(), metadata);
}

TEST_F(PageHeapTest, RefusedRequestsLoseNothing) {
  for (long allowed = 0; allowed < 6; ++allowed) {
    PageHeap& fresh = test::new_page_heap();
    os::testing::refuse_requests(allowed, 1000);
    PageRun* run = fresh.allocate(10, 16);
    os::testing::refuse_nothing();
    EXPECT_TRUE(test::pages_add_up(fresh.counts()));
    EXPECT_EQ(fresh.counts().used, run == nullptr ? 0u : 10u);
    PageRun* second = fresh.allocate(10, 16);
    ASSERT_NE(second, nullptr);
    if (run != nullptr) fresh.free(run, false);
    fresh.free(second, false);
    const size_t obtained = fresh.counts().obtained;
    EXPECT_EQ(fresh.counts().clean, obtained);
    PageRun* whole = fresh.allocate(obtained, 1);
    EXPECT_EQ(fresh.counts().obtained, obtained) << "pages were lost between two chunks";
    fresh.free(whole, false);
  }
}

}  // namespace
}  // namespace acre
