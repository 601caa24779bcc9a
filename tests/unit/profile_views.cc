// sample/: how long blocks lived, what live ones hold, where the heap grew, and when a profile is due.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <thread>
#include <vector>

#include "acre/acre.h"
#include "cache/sampled_run.h"
#include "os/os.h"
#include "pages/page_map.h"
#include "profile_support.h"
#include "sample/held.h"
#include "tables/size_class.h"

namespace acre {
namespace {

using test::for_each_stack;

class ProfileViews : public test::Profiled {
 protected:
  void SetUp() override {
    Profiled::SetUp();
    asked_ = 0;
    profile::on_due([] { ++asked_; });
  }
  void TearDown() override {
    profile::set_interval(0);
    profile::set_at_new_maximum(false);
    profile::on_due(nullptr);
    Profiled::TearDown();
  }
  static inline std::atomic<int> asked_{0};
};

// --- Lifetimes ------------------------------------------------------------------------------------------------

TEST_F(ProfileViews, LifetimesAreDividedAtATenthOfASecondAndAtTen) {
  using profile::Lifetime;
  EXPECT_EQ(profile::lifetime_of(0), Lifetime::kShort);
  EXPECT_EQ(profile::lifetime_of(99), Lifetime::kShort);
  EXPECT_EQ(profile::lifetime_of(100), Lifetime::kMedium);
  EXPECT_EQ(profile::lifetime_of(9999), Lifetime::kMedium);
  EXPECT_EQ(profile::lifetime_of(10000), Lifetime::kLong);
  EXPECT_EQ(profile::lifetime_of(UINT64_MAX), Lifetime::kLong);
}

// [lifetime][by whom], over all stacks.
struct AllFreed {
  profile::Freed at[profile::kLifetimes][2];
  AllFreed() {
    for_each_stack([this](const profile::StackSums& sums) {
      for (unsigned i = 0; i < profile::kLifetimes; ++i) {
        for (unsigned by = 0; by < 2; ++by) {
          at[i][by].blocks += sums.freed_after[i][by].blocks;
          at[i][by].bytes += sums.freed_after[i][by].bytes;
          at[i][by].ms += sums.freed_after[i][by].ms;
        }
      }
    });
  }
  double blocks(unsigned by) const { return at[0][by].blocks + at[1][by].blocks + at[2][by].blocks; }
  double bytes(unsigned by) const { return at[0][by].bytes + at[1][by].bytes + at[2][by].bytes; }
};

TEST_F(ProfileViews, FreedBlocksAreToldByThreadAndLifetime) {
  begin(0, 1);
  const uint64_t start = os::now_ms();
  std::vector<void*> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(acre_malloc(200));
  const double size = static_cast<double>(acre_malloc_usable_size(blocks[0]));
  for (size_t i = 0; i < 12; ++i) acre_free(blocks[i]);
  std::thread([&] {
    for (size_t i = 12; i < 17; ++i) acre_free(blocks[i]);
  }).join();
  const bool was_quick = os::now_ms() - start < profile::kMediumFromMs;
  const AllFreed freed;
  EXPECT_EQ(freed.blocks(0), 12);
  EXPECT_EQ(freed.blocks(1), 5);
  EXPECT_EQ(freed.bytes(0), 12 * size);
  EXPECT_EQ(freed.bytes(1), 5 * size);
  if (was_quick) {
    EXPECT_EQ(freed.at[0][0].blocks + freed.at[0][1].blocks, 17);
  }
  while (os::now_ms() - start < 2 * profile::kMediumFromMs) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (size_t i = 17; i < 20; ++i) acre_free(blocks[i]);
  const AllFreed later;
  EXPECT_EQ(later.blocks(0), 15);
  EXPECT_EQ(later.at[0][0].blocks, freed.at[0][0].blocks);
  if (was_quick) {
    EXPECT_GE(later.at[1][0].ms + later.at[2][0].ms, 3.0 * profile::kMediumFromMs);
  }
}

// --- What live blocks hold ------------------------------------------------------------------------------------

TEST(Held, IsTheFreePartOfARunThatIsHalfEmptyOrMore) {
  EXPECT_EQ(held::share(0, 64, 1024), 0);
  EXPECT_EQ(held::share(1, 64, 1024), 63 * 1024);
  EXPECT_EQ(held::share(4, 64, 1024), 15 * 1024);
  EXPECT_EQ(held::share(32, 64, 1024), 1024);
  EXPECT_EQ(held::share(33, 64, 1024), 0);
  EXPECT_EQ(held::share(64, 64, 1024), 0);
  EXPECT_EQ(held::share(1, 1, 40000), 0);
}

constexpr size_t kBlock = 1024;

double all_held() {
  profile::count_held();
  double bytes = 0;
  for_each_stack([&](const profile::StackSums& sums) { bytes += sums.held_bytes; });
  return bytes;
}

TEST_F(ProfileViews, WhereEveryBlockIsSampledHeldBytesAreExact) {
  begin(0, 1);
  const size_t capacity = run_shape(class_of_size(kBlock)).capacity;
  std::vector<void*> blocks;
  for (size_t i = 0; i < 6 * capacity; ++i) blocks.push_back(acre_malloc(kBlock));
  std::map<SampledRun*, std::vector<void*>> runs;
  for (void* block : blocks) runs[g_page_map.find(block)->sampled].push_back(block);
  EXPECT_LT(all_held(), static_cast<double>(capacity * kBlock));  // one run at most is not full
  double expected = 0;
  std::vector<void*> kept;
  for (auto& [run, of_run] : runs) {
    while (of_run.size() > 3) {
      acre_free(of_run.back());
      of_run.pop_back();
    }
    for (void* block : of_run) kept.push_back(block);
    ASSERT_LE(size_t{run->capacity} - run->free, 3u);
    expected += static_cast<double>(size_t{run->free} * kBlock);
  }
  EXPECT_NEAR(all_held(), expected, 1);
  void* large = acre_malloc(100000);
  EXPECT_NEAR(all_held(), expected, 1);
  acre_free(large);
  for (void* block : kept) acre_free(block);
  EXPECT_EQ(all_held(), 0);
}

// Of each `of` blocks the program keeps one, by a function of its own; the others, and all that another function
// allocates in blocks of another size and keeps, hold nothing. What is held, were nobody to sample, is known.
__attribute__((noinline)) void* kept_site() {
  void* block = acre_malloc(kBlock);
  asm volatile("" : : "r"(block) : "memory");
  return block;
}

struct Seen {
  double by_kept = 0, by_others = 0;
};

Seen hold(size_t of, size_t blocks_kept) {
  std::vector<void*> kept, freed, dense;
  for (size_t i = 0; i < blocks_kept * of; ++i) {
    (i % of == 0 ? kept : freed).push_back(i % of == 0 ? kept_site() : acre_malloc(kBlock));
  }
  for (size_t i = 0; i < blocks_kept * 4; ++i) dense.push_back(acre_malloc(2 * kBlock));
  for (void* block : freed) acre_free(block);
  Seen seen;
  profile::count_held();
  for_each_stack([&](const profile::StackSums& sums) {
    const bool is_kept = sums.live.blocks != 0 && sums.live.bytes == sums.live.blocks * kBlock;
    (is_kept ? seen.by_kept : seen.by_others) += sums.held_bytes;
  });
  for (void* block : kept) acre_free(block);
  for (void* block : dense) acre_free(block);
  return seen;
}

TEST_F(ProfileViews, HeldBytesAreEstimatedWithoutBias) {
  constexpr uint64_t kMean = 16 << 10;
  constexpr size_t kKept = 1500;
  constexpr unsigned kSeeds = 20;
  const double p = -std::expm1(-static_cast<double>(kBlock) / static_cast<double>(kMean));
  const size_t capacity = run_shape(class_of_size(kBlock)).capacity;
  for (size_t of : {size_t{16}, capacity}) {
    SCOPED_TRACE(of);
    const double each = static_cast<double>((of - 1) * kBlock);
    const double expected = each * kKept;
    const double deviation = each * std::sqrt(kKept * (1 - p) / p);
    double sum = 0;
    for (unsigned seed = 1; seed <= kSeeds; ++seed) {
      begin(kMean, seed * 77 + of);
      const Seen seen = hold(of, kKept);
      sum += seen.by_kept;
      EXPECT_LT(std::abs(seen.by_kept - expected), 5.3 * deviation + 0.05 * expected);
      EXPECT_LT(seen.by_others, 0.05 * expected);
    }
    EXPECT_NEAR(sum / kSeeds / expected, 1, 4.5 * deviation / expected / std::sqrt(kSeeds) + 0.03);
  }
}

// --- Growth ---------------------------------------------------------------------------------------------------

constexpr size_t kHuge = size_t{100} << 20;

TEST_F(ProfileViews, GrowthIsCountedForItsStack) {
  begin(0, 1);
  void* huge = acre_malloc(kHuge);
  uint64_t most = 0;
  for_each_stack([&](const profile::StackSums& sums) { most = std::max(most, sums.grown_bytes); });
  EXPECT_EQ(most, kHuge);
  EXPECT_GE(profile::totals().grown_bytes, kHuge);
  EXPECT_GE(profile::totals().grown, 1u);
  acre_free(huge);
  profile::set_active(false);
  const uint64_t before = profile::totals().grown_bytes;
  acre_free(acre_malloc(kHuge));
  EXPECT_EQ(profile::totals().grown_bytes, before);
}

// The chunks of an arena, while its blocks are small.
TEST_F(ProfileViews, ChunksAreGrowth) {
  begin(1 << 20, 1);
  std::vector<void*> blocks;
  for (size_t i = 0; i < 20000; ++i) blocks.push_back(acre_malloc(16 << 10));
  EXPECT_GE(profile::totals().grown_bytes, size_t{100} << 20);
  for (void* block : blocks) acre_free(block);
}

// --- When a profile is due --------------------------------------------------------------------------------------

TEST_F(ProfileViews, IsDueAfterEachInterval) {
  begin(0, 1);
  profile::set_interval(1 << 20);
  for (int i = 0; i < 16 * 10 + 8; ++i) acre_free(acre_malloc(64 << 10));
  EXPECT_EQ(asked_, 10);
  profile::set_interval(0);
  for (int i = 0; i < 100; ++i) acre_free(acre_malloc(64 << 10));
  EXPECT_EQ(asked_, 10);
}

TEST_F(ProfileViews, IsDueAtEachNewMaximumOfAddressSpace) {
  begin(0, 1);
  profile::set_at_new_maximum(true);
  void* first = acre_malloc(2 * kHuge);
  EXPECT_EQ(asked_, 1);
  acre_free(first);
  first = acre_malloc(kHuge);
  EXPECT_EQ(asked_, 1);
  void* second = acre_malloc(2 * kHuge);
  EXPECT_EQ(asked_, 2);
  acre_free(first);
  acre_free(second);
  profile::set_at_new_maximum(false);
  acre_free(acre_malloc(8 * kHuge));
  EXPECT_EQ(asked_, 2);
}

}  // namespace
}  // namespace acre
