// guard/ and sample/clock.h: which blocks are guarded, how often, and that they are blocks like others.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "acre/acre.h"
#include "acre/jemalloc.h"
#include "cache/lookup.h"
#include "guard/slots.h"
#include "observe/sampler.h"
#include "profile_support.h"
#include "sample/clock.h"
#include "support.h"

namespace acre {
namespace {

constexpr size_t kPage = 4096;

class GuardTest : public test::Profiled {
 protected:
  void TearDown() override {
    set_guards(false, 0);
    test::Profiled::TearDown();
  }
  static void set_guards(bool on, uint64_t mean) {
    clock::set_guards(on, mean);
    profile::start_or_stop();
  }
  static bool is_guarded(const void* p) { return guard::slots::has(address_of(p)); }

  // Guarded blocks of this size, as many as there are now.
  static std::vector<char*> take_all(size_t bytes) {
    std::vector<char*> blocks;
    for (;;) {
      char* p = static_cast<char*>(acre_malloc(bytes));
      if (!is_guarded(p)) {
        acre_free(p);
        return blocks;
      }
      blocks.push_back(p);
    }
  }
  static void free_all(const std::vector<char*>& blocks) {
    for (char* p : blocks) acre_free(p);
  }
};

double share(size_t bytes, double mean) { return -std::expm1(-static_cast<double>(bytes) / mean); }

void expect_about(double count, double n, double probability, const char* what) {
  const double expected = n * probability;
  EXPECT_NEAR(count, expected, 5 * std::sqrt(expected * (1 - probability)) + 1) << what;
}

// The clock alone: each block has a point of either kind with the probability that it has without the other.
TEST_F(GuardTest, OneClockServesBothExactly) {
  constexpr double kProfileMean = 8192, kGuardMean = 3000;
  begin(static_cast<uint64_t>(kProfileMean), 11);
  set_guards(true, static_cast<uint64_t>(kGuardMean));
  for (size_t bytes : {size_t{48}, size_t{1024}, size_t{4096}, size_t{8192}}) {
    constexpr uint64_t kBlocks = 400000;
    uint64_t of_profile = 0, of_guards = 0, of_both = 0;
    for (uint64_t at = 0;; ++at) {
      at += clock::gap(bytes);
      if (at >= kBlocks) break;
      const uint8_t due = clock::due(bytes);
      ASSERT_NE(due, 0);
      of_profile += (due & sampler::kForProfile) != 0;
      of_guards += (due & sampler::kForGuards) != 0;
      of_both += due == (sampler::kForProfile | sampler::kForGuards);
    }
    const double guards = bytes > clock::kMostGuarded ? 0 : share(bytes, kGuardMean);
    expect_about(static_cast<double>(of_profile), kBlocks, share(bytes, kProfileMean), "profile");
    expect_about(static_cast<double>(of_guards), kBlocks, guards, "guards");
    expect_about(static_cast<double>(of_both), kBlocks, guards * share(bytes, kProfileMean), "both");
  }
}

TEST_F(GuardTest, MallocGuardsAtTheRateAndLeavesTheProfileRight) {
  constexpr size_t kBytes = 256, kBlocks = 60000;
  for (const bool profiled : {false, true}) {
    if (profiled) begin(4096, 5);
    random::seed(7);
    set_guards(true, 16384);
    const guard::Counts before = guard::counts();
    const auto live = profile::totals().live.blocks;
    for (size_t i = 0; i < kBlocks; ++i) acre_free(acre_malloc(kBytes));
    const guard::Counts after = guard::counts();
    expect_about(static_cast<double>(after.made - before.made), kBlocks, share(kBytes, 16384), "guarded");
    EXPECT_EQ(after.live, before.live);
    if (!profiled) continue;
    EXPECT_NEAR(profile::totals().allocated.estimated_bytes / (kBytes * kBlocks), 1, 0.1);
    EXPECT_EQ(profile::totals().live.blocks, live);
  }
}

TEST_F(GuardTest, BlocksLieAtBothEdges) {
  set_guards(true, 0);
  const auto blocks = take_all(100);
  ASSERT_GE(blocks.size(), 8u);
  size_t left = 0;
  for (const char* p : blocks) {
    const size_t offset = address_of(p) % kPage;
    if (offset == 0) ++left;
    else EXPECT_EQ(offset, kPage - 112);
  }
  EXPECT_GT(left, 0u);
  EXPECT_LT(left, blocks.size());
  free_all(blocks);
}

TEST_F(GuardTest, SlotsRunOutAndTheOldestIsUsedFirst) {
  set_guards(true, 0);
  const guard::Counts before = guard::counts();
  const auto blocks = take_all(64);
  EXPECT_EQ(guard::counts().live, before.live + blocks.size());
  EXPECT_GT(guard::counts().refused, before.refused);
  EXPECT_LE(guard::counts().live * kPage, size_t{512} << 10);
  free_all(blocks);
  EXPECT_EQ(guard::counts().live, before.live);
  // Each slot that was spent stays so while others are.
  std::set<Address> used;
  for (const char* p : blocks) used.insert(align_down(address_of(p), kPage));
  for (int i = 0; i < 100; ++i) {
    char* p = static_cast<char*>(acre_malloc(64));
    EXPECT_TRUE(is_guarded(p));
    EXPECT_FALSE(used.contains(align_down(address_of(p), kPage)));
    acre_free(p);
  }
}

TEST_F(GuardTest, OtherSizesAndArenasAreNotGuarded) {
  set_guards(true, 0);
  for (size_t bytes : {size_t{4097}, size_t{20000}, size_t{100000}, size_t{100} << 20}) {
    void* p = acre_malloc(bytes);
    EXPECT_FALSE(is_guarded(p)) << bytes;
    acre_free(p);
  }
  void* p = acre_mallocx(100, MALLOCX_ARENA(0));
  ASSERT_NE(p, nullptr);
  acre_dallocx(p, 0);
}

TEST_F(GuardTest, AllocationFunctionsKeepTheirPromises) {
  set_guards(true, 0);
  for (size_t alignment = 8; alignment <= kPage; alignment *= 2) {
    for (int i = 0; i < 6; ++i) {  // at both edges
      char* p = static_cast<char*>(acre_memalign(alignment, 40));
      EXPECT_EQ(address_of(p) % alignment, 0u);
      EXPECT_GE(acre_malloc_usable_size(p), 40u);
      memset(p, 1, acre_malloc_usable_size(p));
      EXPECT_TRUE(acre_owns(p));
      EXPECT_FALSE(acre_owns(p + 1));
      acre_free(p);
      EXPECT_FALSE(acre_owns(p));
    }
  }
  for (size_t n : {1u, 8u, 24u, 100u, 1000u, 4000u, 4096u}) {
    char* p = static_cast<char*>(acre_calloc(1, n));
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(p[i], 0);
    memset(p, 7, n);
    for (size_t to : {n + 1, 2 * n, size_t{9000}, n}) {  // within the block, to another, to one that is not guarded
      p = static_cast<char*>(acre_realloc(p, to));
      for (size_t i = 0; i < std::min(n, to); ++i) ASSERT_EQ(p[i], 7);
      memset(p, 7, to);
    }
    acre_free_sized(p, n);
  }
  // A program that asks for the size may use all of it.
  char* p = static_cast<char*>(acre_mallocx(100, 0));
  EXPECT_EQ(acre_sallocx(p, 0), 112u);
  memset(p, 1, 112);
  EXPECT_EQ(acre_xallocx(p, 110, 0, 0), 112u);
  acre_sdallocx(p, 110, 0);
}

TEST_F(GuardTest, ThreadsTakeAndFreeThem) {
  set_guards(true, 0);
  const uint64_t live = guard::counts().live;
  std::vector<std::thread> threads;
  std::vector<void*> given[4];
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&mine = given[t]] {
      for (int i = 0; i < 3000; ++i) {
        void* p = acre_malloc(32);
        memset(p, 1, 32);
        if (i % 100 == 0) mine.push_back(p);
        else acre_free(p);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (auto& blocks : given) for (void* p : blocks) acre_free(p);
  EXPECT_EQ(guard::counts().live, live);
}

TEST_F(GuardTest, AChildHasItsOwn) {
  set_guards(true, 0);
  const auto blocks = take_all(100);
  const pid_t child = fork();
  if (child == 0) {
    free_all(blocks);
    const auto mine = take_all(100);
    for (char* p : mine) memset(p, 2, 100);
    _exit(mine.size() == blocks.size() ? 0 : 1);
  }
  for (char* p : blocks) memset(p, 1, 100);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  for (char* p : blocks) EXPECT_EQ(p[99], 1);
  free_all(blocks);
}

TEST_F(GuardTest, StatisticsHaveThem) {
  const auto figure = [](const char* name) {
    uint64_t epoch = 1;
    size_t bytes = sizeof epoch;
    acre_mallctl("epoch", &epoch, &bytes, &epoch, bytes);
    uint64_t value = 0;
    bytes = sizeof value;
    EXPECT_EQ(acre_mallctl(name, &value, &bytes, nullptr, 0), 0) << name;
    return value;
  };
  set_guards(true, 0);
  const uint64_t made = figure("stats.guarded"), live = figure("stats.guarded_live");
  const uint64_t before = figure("stats.allocated");
  std::vector<void*> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(acre_malloc(2048));
  EXPECT_GE(figure("stats.guarded"), made + 10);
  EXPECT_GE(figure("stats.guarded_live"), live + 10);
  EXPECT_GE(figure("stats.allocated"), before + 10 * 2048);
  EXPECT_EQ(acre_malloc_trim(0) >= 0, true);
  for (void* p : blocks) {
    EXPECT_TRUE(is_guarded(p));
    memset(p, 1, 2048);
    acre_free(p);
  }
  EXPECT_EQ(figure("stats.guarded_live"), live);
}

TEST_F(GuardTest, RefusedMemoryIsNoError) {
  void* usual = acre_malloc(48);  // its run has room
  set_guards(true, 0);
  void* warm = acre_malloc(48);
  os::testing::refuse_requests(0, 1000000);
  void* p = acre_malloc(48);
  os::testing::refuse_nothing();
  EXPECT_NE(p, nullptr);
  EXPECT_FALSE(is_guarded(p));
  acre_free(p);
  acre_free(warm);
  acre_free(usual);
}

}  // namespace
}  // namespace acre
