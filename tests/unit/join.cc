// pages/join.cc: runs that are joined from dirty runs and the free runs beside them.
#include <gtest/gtest.h>

#include <vector>

#include "page_heap_support.h"
#include "pages/limit.h"

namespace acre {
namespace {

class Join : public test::PageHeapTest {
 protected:
  enum Part { kUsed, kDirty, kClean, kMuzzy };

  // Parts of ten pages each, from the lowest address on, with a run in use behind them.
  void lay_out(const std::vector<Part>& parts) {
    std::vector<PageRun*> runs;
    for (size_t i = 0; i < parts.size(); ++i) runs.push_back(allocate(10));
    allocate(1);
    base = runs[0]->base;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] == kMuzzy) heap.free(runs[i], true);
    }
    if (heap.dirty_pages() != 0) make_muzzy();
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] == kDirty || parts[i] == kClean) heap.free(runs[i], parts[i] == kDirty);
    }
  }

  void make_muzzy() {
    heap.set_muzzy_decay_ms(-1);
    heap.set_dirty_decay_ms(1000);
    for (uint64_t now = 5000; now < 7000; now += 10) heap.decay(now);
    heap.set_dirty_decay_ms(-1);
  }

  // Expects a run that begins `from` pages after the first part, and takes so many clean pages.
  PageRun* expect_joined(size_t pages, size_t from, size_t clean_pages) {
    size_t clean = SIZE_MAX;
    PageRun* run = heap.allocate_joined(pages, &clean);
    EXPECT_NE(run, nullptr);
    if (run == nullptr) return nullptr;
    EXPECT_EQ((run->base - base) / kPageBytes, from);
    EXPECT_EQ(run->pages, pages);
    EXPECT_EQ(run->kind, RunKind::kLarge);
    EXPECT_FALSE(run->fresh);
    EXPECT_EQ(clean, clean_pages);
    EXPECT_EQ(g_page_map.find(pointer_to(run->base)), run);
    EXPECT_EQ(g_page_map.find(pointer_to(run->end() - 1)), run);
    return run;
  }
  void expect_none(size_t pages) {
    size_t clean;
    EXPECT_EQ(heap.allocate_joined(pages, &clean), nullptr);
  }

  Address base = 0;
};

TEST_F(Join, WithCleanPagesBehind) {
  lay_out({kDirty, kClean});
  expect_joined(15, 0, 5);
  PageRun* rest = heap.allocate_free(5, 1, false);
  ASSERT_NE(rest, nullptr);
  EXPECT_TRUE(rest->fresh);
  EXPECT_EQ(rest->base, base + 15 * kPageBytes) << "what was not taken is free, and clean";
}

TEST_F(Join, WithCleanPagesBefore) {
  lay_out({kClean, kDirty, kUsed});
  PageRun* run = expect_joined(15, 5, 5);
  heap.free(run, true);
  EXPECT_EQ(heap.dirty_pages(), 15u);
  expect_joined(20, 0, 5);
}

TEST_F(Join, OverSeveralNeighbours) {
  lay_out({kUsed, kClean, kDirty, kClean, kDirty, kUsed});
  expect_joined(36, 14, 16);
}

TEST_F(Join, MuzzyPagesAreInUseAlready) {
  lay_out({kMuzzy, kDirty, kUsed});
  ASSERT_EQ(heap.muzzy_pages(), 10u);
  expect_joined(20, 0, 0);
  EXPECT_EQ(heap.muzzy_pages(), 0u);
}

TEST_F(Join, TheRunWithTheFewestCleanPages) {
  lay_out({kDirty, kClean, kUsed, kDirty, kDirty, kClean, kUsed});
  expect_joined(25, 30, 5);
}

TEST_F(Join, AtLeastHalfIsDirty) {
  lay_out({kDirty, kClean, kClean, kUsed});
  expect_none(21);
  expect_joined(20, 0, 10);
}

TEST_F(Join, OnlyFreeNeighbours) {
  lay_out({kDirty, kUsed, kClean, kDirty, kUsed});
  expect_none(21);
  expect_joined(20, 20, 10);
}

TEST_F(Join, WithinTheHardLimit) {
  lay_out({kDirty, kClean, kUsed});
  expect_none(1000);  // makes headers, which count as held
  limit::set_hard(limit::held() + 4 * kPageBytes);
  expect_none(15);
  expect_joined(14, 0, 4);
  limit::set_hard(SIZE_MAX);
}

TEST_F(Join, WithinTheArenasLimit) {
  lay_out({kDirty, kClean, kUsed});
  heap.set_limit(heap.used_pages() + 14);
  expect_none(15);
  expect_joined(14, 0, 4);
  heap.set_limit(SIZE_MAX);
}

TEST_F(Join, ARunGrowsOverAllKinds) {
  lay_out({kUsed, kDirty, kClean, kMuzzy, kUsed});
  PageRun* run = g_page_map.find(pointer_to(base));
  EXPECT_FALSE(heap.grow_in_place(run, 41));
  ASSERT_TRUE(heap.grow_in_place(run, 38));
  EXPECT_EQ(run->pages, 38u);
  EXPECT_EQ(heap.dirty_pages(), 0u);
  EXPECT_EQ(heap.muzzy_pages(), 2u);
}

TEST_F(Join, ARunGrowsOverDirtyPagesBeyondTheHardLimit) {
  lay_out({kUsed, kDirty, kUsed});
  PageRun* run = g_page_map.find(pointer_to(base));
  limit::set_hard(0);
  EXPECT_TRUE(heap.grow_in_place(run, 15));
  limit::set_hard(SIZE_MAX);
}

}  // namespace
}  // namespace acre
