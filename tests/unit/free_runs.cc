// pages/free_runs: best fit at the lowest address, against a plain list of runs.
#include "pages/free_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "support.h"

namespace acre {
namespace {

// The longest run that is sorted with runs of this length: one length up to 32 pages, then eight steps a
// doubling.
size_t bin_end(size_t pages) {
  if (pages <= 32) return pages;
  const size_t step = size_t{1} << (floor_log2(pages - 1) - 3);
  return (pages + step - 1) / step * step;
}

class Model {
 public:
  explicit Model(uint64_t seed) : random_(seed) {}

  void insert(size_t most_pages) {
    auto run = std::make_unique<PageRun>();
    do {
      run->base = (Address{0x7000} << 32) + (random_.below(size_t{1} << 24) << kPageShift);
    } while (std::any_of(runs_.begin(), runs_.end(), [&](auto& other) { return other->base == run->base; }));
    run->pages = static_cast<uint32_t>(random_.between(1, most_pages));
    set.insert(run.get());
    runs_.push_back(std::move(run));
  }

  void remove() {
    const size_t victim = random_.below(runs_.size());
    set.remove(runs_[victim].get());
    runs_[victim] = std::move(runs_.back());
    runs_.pop_back();
  }

  void check_find(size_t pages, size_t align_pages) const {
    const PageRun* found = set.find(pages, align_pages);
    const size_t sure = bin_end(pages + align_pages - 1);  // anything longer holds it for certain
    const PageRun* shortest_sure = nullptr;
    for (const auto& run : runs_) {
      if (run->pages <= sure) continue;
      if (shortest_sure == nullptr || run->pages < shortest_sure->pages) shortest_sure = run.get();
    }
    if (found == nullptr) {
      ASSERT_EQ(shortest_sure, nullptr) << pages << " pages, aligned to " << align_pages;
      return;
    }
    ASSERT_TRUE(std::any_of(runs_.begin(), runs_.end(), [&](auto& run) { return run.get() == found; }));
    const size_t lead = FreeRuns::lead(found, align_pages);
    ASSERT_LT(lead, align_pages);
    ASSERT_TRUE(is_aligned((found->base >> kPageShift) + lead, align_pages));
    ASSERT_LE(lead + pages, found->pages);
    if (shortest_sure != nullptr) {
      ASSERT_LE(found->pages, bin_end(shortest_sure->pages)) << "a shorter one would have done";
    }
    if (align_pages == 1) expect_lowest(found);
  }

  void check_pages() const {
    size_t pages = 0;
    for (const auto& run : runs_) pages += run->pages;
    ASSERT_EQ(set.pages(), pages);
  }

  size_t count() const { return runs_.size(); }

  FreeRuns set;

 private:
  void expect_lowest(const PageRun* found) const {
    for (const auto& run : runs_) {
      if (bin_end(run->pages) == bin_end(found->pages)) {
        ASSERT_LE(found->base, run->base);
      }
    }
  }

  test::Random random_;
  std::vector<std::unique_ptr<PageRun>> runs_;
};

class FreeRunsFuzz : public testing::TestWithParam<int> {};

TEST_P(FreeRunsFuzz, AgainstAList) {
  Model model(static_cast<uint64_t>(GetParam()));
  test::Random random(static_cast<uint64_t>(GetParam()) + 1000);
  const size_t most_pages = size_t{8} << GetParam();
  for (int step = 0; step < 3000; ++step) {
    if (model.count() == 0 || (model.count() < 100 && random.one_in(2))) {
      model.insert(most_pages);
    } else {
      model.remove();
    }
    model.check_pages();
    model.check_find(random.between(1, most_pages), 1);
    model.check_find(random.between(1, most_pages), size_t{1} << random.below(10));
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, FreeRunsFuzz, testing::Range(0, 10));

class FreeRunsOf : public testing::Test {
 protected:
  PageRun* add(size_t page, size_t pages) {
    auto& run = runs_.emplace_back(std::make_unique<PageRun>());
    run->base = (Address{0x7000} << 32) + (page << kPageShift);
    run->pages = static_cast<uint32_t>(pages);
    set.insert(run.get());
    return run.get();
  }
  FreeRuns set;

 private:
  std::vector<std::unique_ptr<PageRun>> runs_;
};

TEST_F(FreeRunsOf, NothingThere) {
  EXPECT_EQ(set.find(1, 1), nullptr);
  PageRun* run = add(10, 1);
  EXPECT_EQ(set.find(1, 1), run);
  EXPECT_EQ(set.find(2, 1), nullptr);
  set.remove(run);
  EXPECT_EQ(set.find(1, 1), nullptr);
  EXPECT_EQ(set.pages(), 0u);
}

TEST_F(FreeRunsOf, TheShortestThatFitsThenTheLowest) {
  add(1000, 20);
  PageRun* high = add(500, 8);
  PageRun* low = add(100, 8);
  EXPECT_EQ(set.find(7, 1), low);
  set.remove(low);
  EXPECT_EQ(set.find(7, 1), high);
  EXPECT_EQ(set.find(9, 1)->pages, 20u);
}

TEST_F(FreeRunsOf, AnAlignedPlaceInside) {
  PageRun* run = add(17, 31);  // an aligned page is 32, and 16 are left behind it
  EXPECT_EQ(set.find(16, 16), run);
  EXPECT_EQ(FreeRuns::lead(run, 16), 15u);
  EXPECT_EQ(set.find(17, 16), nullptr);
  PageRun* aligned = add(64, 16);
  EXPECT_EQ(set.find(16, 16), aligned);
}

TEST_F(FreeRunsOf, TheLongestRuns) {
  const size_t most = window::kRunReach >> kPageShift;  // free runs do not reach over it
  PageRun* run = add(0, most);
  EXPECT_EQ(set.find(most, 1), run);
  EXPECT_EQ(set.find(1, 1), run);
  EXPECT_EQ(set.find(size_t{1} << 21, 1), nullptr);
  EXPECT_EQ(set.find(size_t{1} << 24, 1 << 10), nullptr);
}

}  // namespace
}  // namespace acre
