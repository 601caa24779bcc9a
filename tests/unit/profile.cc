// sample/: draws, stacks, and that what the profile estimates is what was allocated.
#include "sample/profile.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <future>
#include <set>
#include <thread>
#include <vector>

#include "acre/acre.h"
#include "observe/sampler.h"
#include "profile_support.h"
#include "sample/at_work.h"
#include "sample/capture.h"
#include "sample/random.h"
#include "tables/size_class.h"
#include "unwound.h"

namespace acre {
namespace {

TEST(Chance, LogarithmAndExponentialFunctionAreExact) {
  for (double x = 1e-17; x < 1e17; x *= 1.37) EXPECT_NEAR(random::logarithm(x), std::log(x), 1e-14 * (1 + std::abs(std::log(x))));
  for (double x = 1e-12; x < 50; x *= 1.21) {
    const double expected = -std::expm1(-x);
    EXPECT_NEAR(random::one_minus_exp(x) / expected, 1, 1e-14) << x;
  }
  EXPECT_EQ(random::one_minus_exp(0), 0);
  EXPECT_EQ(random::one_minus_exp(1e9), 1);
}

// In twenty intervals that are equally likely, by chi-squared.
TEST(Chance, DrawsAreExponential) {
  constexpr int kIntervals = 20, kDraws = 200000;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    random::seed(seed);
    int count[kIntervals] = {};
    for (int i = 0; i < kDraws; ++i) {
      const double u = 1 - std::exp(-random::exponential());
      ASSERT_GE(u, 0);
      ++count[std::min(kIntervals - 1, static_cast<int>(u * kIntervals))];
    }
    double chi = 0;
    for (int n : count) chi += (n - kDraws / kIntervals) * (n - kDraws / kIntervals) / double(kDraws / kIntervals);
    EXPECT_LT(chi, 50) << "seed " << seed;  // of 19 degrees of freedom: once in 10000
  }
}

TEST(Chance, SeedsDiffer) {
  random::seed(1);
  const uint64_t first = random::next();
  random::seed(2);
  EXPECT_NE(random::next(), first);
  random::seed(1);
  EXPECT_EQ(random::next(), first);
  std::set<uint64_t> all;  // numbers of streams, of which none begins within another
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    random::seed(seed);
    for (int i = 0; i < 100; ++i) all.insert(random::next());
  }
  EXPECT_EQ(all.size(), 10000u);
}

TEST(AtWork, IsTakenOnceByAThread) {
  const AtWork outer;
  EXPECT_FALSE(outer.is_inner());
  const AtWork inner;
  EXPECT_TRUE(inner.is_inner());
  std::thread([] { EXPECT_FALSE(AtWork().is_inner()); }).join();
  EXPECT_TRUE(AtWork().is_inner());
}

// So many threads have a place, and wait meanwhile, perhaps for a lock of the next thread's.
TEST(AtWork, AThreadBeyondTheMostWaitsForAWhile) {
  constexpr unsigned kMost = 64;
  std::atomic<unsigned> at_work{0};
  std::atomic<bool> goes_on{false};
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kMost; ++i) {
    threads.emplace_back([&, ended] {
      const AtWork mine;
      EXPECT_FALSE(mine.is_inner());
      at_work.fetch_add(1);
      ended.wait();
    });
  }
  while (at_work.load() != kMost) std::this_thread::yield();
  std::thread next([&] {
    EXPECT_TRUE(AtWork().is_inner());
    goes_on.store(true);
  });
  for (int i = 0; i < 1000 && !goes_on.load(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(goes_on.load());
  end.set_value();
  for (std::thread& thread : threads) thread.join();
  next.join();
  EXPECT_FALSE(AtWork().is_inner());
}

// --- Stacks -----------------------------------------------------------------------------------------------------

__attribute__((noinline)) capture::Frames deep(int depth) {
  capture::Frames frames;
  if (depth == 0) {
    test::take_as_allocating(frames);
  } else {
    frames = deep(depth - 1);
  }
  asm volatile("" : : "r"(&frames) : "memory");
  return frames;
}

class Capture : public testing::Test {
 protected:
  void SetUp() override { capture::prepare(); }
};

TEST_F(Capture, AFrameForEachCall) {
  for (capture::Way way : {capture::Way::kUnwinder, capture::Way::kKnownWalks}) {
    capture::set_way(way);
    const capture::Frames few = deep(3), more = deep(7);
    EXPECT_GE(few.count, 5u);
    EXPECT_EQ(more.count, few.count + 4);
    EXPECT_FALSE(more.truncated);
    for (unsigned i = 2; i < 7; ++i) EXPECT_EQ(more.address[i], more.address[1]);  // from deep in deep
  }
}

TEST_F(Capture, LongStacksAreCutAndMarked) {
  const capture::Frames frames = deep(capture::kMostFrames + 10);
  EXPECT_EQ(frames.count, capture::kMostFrames);
  EXPECT_TRUE(frames.truncated);
}

// --- The profile ------------------------------------------------------------------------------------------------

// n blocks of a size, each sampled with probability p and then counted 1/p times: a sum with mean n and variance
// n (1 - p) / p. In units of its deviation it is about normal.
struct Estimate {
  double expected, variance, value;
  double deviation() const { return (value - expected) / std::sqrt(variance); }
};
using Pattern = std::function<void(size_t bytes, size_t blocks)>;

class Profile : public test::Profiled {
 protected:
  static std::vector<Estimate> run_pattern(const Pattern& pattern, size_t bytes, uint64_t mean, size_t blocks,
                                           unsigned seeds);
};

TEST_F(Profile, WithMean0EveryBlockIsSampled) {
  begin(0, 1);
  std::vector<void*> blocks;
  size_t bytes = 0;
  for (size_t n : {1, 48, 1000, 5000, 32768, 32769, 1 << 20, 70 << 20}) {
    blocks.push_back(acre_malloc(n));
    bytes += acre_malloc_usable_size(blocks.back());
  }
  profile::Totals totals = profile::totals();
  EXPECT_EQ(totals.live.blocks, blocks.size());
  EXPECT_EQ(totals.live.bytes, bytes);
  EXPECT_EQ(totals.live.estimated_bytes, static_cast<double>(bytes));
  for (void* block : blocks) acre_free(block);
  totals = profile::totals();
  EXPECT_EQ(totals.live.blocks, 0u);
  EXPECT_EQ(totals.live.estimated_bytes, 0);
  EXPECT_EQ(totals.allocated.blocks, blocks.size());
  EXPECT_EQ(totals.peak_bytes, static_cast<double>(bytes));
}

TEST_F(Profile, ResetForgetsWhatLives) {
  begin(0, 1);
  void* before = acre_malloc(100);
  profile::reset(0);
  EXPECT_EQ(profile::totals().live.blocks, 0u);
  void* after = acre_malloc(100);
  acre_free(before);
  EXPECT_EQ(profile::totals().live.blocks, 1u);
  acre_free(after);
  EXPECT_EQ(profile::totals().live.blocks, 0u);
}

__attribute__((noinline)) void* here(size_t n) { return acre_malloc(n); }
__attribute__((noinline)) void* there(size_t n) {
  void* block = acre_malloc(n);
  asm volatile("" : : "r"(block) : "memory");
  return block;
}

std::vector<profile::StackSums> all_sums() {
  std::vector<profile::StackSums> all;
  test::for_each_stack([&](const profile::StackSums& sums) {
    if (sums.allocated.blocks != 0) all.push_back(sums);
  });
  return all;
}

TEST_F(Profile, EachStackOnceAndThePeakIsTheHighestMoment) {
  begin(0, 1);
  std::vector<void*> small, big;
  auto one_line = [&] {
    for (int i = 0; i < 10; ++i) small.push_back(here(64));
    for (int i = 0; i < 5; ++i) big.push_back(there(100000));
    for (void* block : big) acre_free(block);
    for (int i = 0; i < 10; ++i) acre_free(small[static_cast<size_t>(i)]);
    acre_free(here(48));
  };
  one_line();
  const auto all = all_sums();
  ASSERT_GE(all.size(), 2u);
  uint64_t blocks_at_peak = 0, bytes_at_peak = 0, allocated = 0, freed = 0;
  for (const profile::StackSums& sums : all) {
    EXPECT_EQ(sums.live.blocks, 0u);
    blocks_at_peak += sums.live_at_peak.blocks;
    bytes_at_peak += sums.live_at_peak.bytes;
    allocated += sums.allocated.blocks;
    freed += sums.freed;
  }
  EXPECT_EQ(allocated, 16u);
  EXPECT_EQ(freed, 16u);
  EXPECT_EQ(blocks_at_peak, 15u);
  EXPECT_EQ(bytes_at_peak, 10 * 64 + 5 * align_up(100000, kPageBytes));
}

TEST_F(Profile, FreesByOtherThreadsAreTold) {
  begin(0, 1);
  std::vector<void*> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(here(200));
  std::thread([&] {
    for (int i = 0; i < 15; ++i) acre_free(blocks[static_cast<size_t>(i)]);
  }).join();
  for (size_t i = 15; i < 20; ++i) acre_free(blocks[i]);
  uint64_t freed = 0, elsewhere = 0;
  for (const profile::StackSums& sums : all_sums()) {
    freed += sums.freed;
    elsewhere += sums.freed_elsewhere;
  }
  EXPECT_EQ(freed, 20u);
  EXPECT_EQ(elsewhere, 15u);
}

Estimate estimate_blocks(size_t bytes, uint64_t mean, double n, double value) {
  const double p = -std::expm1(-static_cast<double>(bytes) / static_cast<double>(mean));
  return {n, n * (1 - p) / p, value};
}

// None is further off than one in ten million is; and their squares are 1 on average.
void expect_normal(const std::vector<Estimate>& estimates) {
  double squares = 0, sum = 0;
  for (const Estimate& e : estimates) {
    EXPECT_LT(std::abs(e.deviation()), 5.3) << e.value << " for " << e.expected;
    squares += e.deviation() * e.deviation();
    sum += e.deviation();
  }
  const double n = static_cast<double>(estimates.size());
  EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(2 / n));
  EXPECT_LT(std::abs(sum) / std::sqrt(n), 4.5);
}

std::vector<Estimate> Profile::run_pattern(const Pattern& pattern, size_t bytes, uint64_t mean, size_t blocks,
                                           unsigned seeds) {
  std::vector<Estimate> estimates;
  const size_t block_bytes = bytes <= kSmallMax ? size_of_class(class_of_size(bytes)) : align_up(bytes, kPageBytes);
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    begin(mean, seed * 1000 + bytes);
    pattern(bytes, blocks);
    const double value = profile::totals().allocated.estimated_blocks;
    EXPECT_NEAR(profile::totals().allocated.estimated_bytes, value * static_cast<double>(block_bytes), 1);
    EXPECT_EQ(profile::totals().live.blocks, 0u);
    estimates.push_back(estimate_blocks(block_bytes, mean, static_cast<double>(blocks), value));
  }
  return estimates;
}

void one_by_one(size_t bytes, size_t blocks) {
  for (size_t i = 0; i < blocks; ++i) acre_free(acre_malloc(bytes));
}
void all_at_once(size_t bytes, size_t blocks) {
  std::vector<void*> all(blocks);
  for (void*& block : all) block = acre_malloc(bytes);
  for (void* block : all) acre_free(block);
}
// Lists are given up before they are used, at moments that depend on what was allocated.
void with_lists_given_up(size_t bytes, size_t blocks) {
  std::vector<void*> all;
  for (size_t i = 0; i < blocks; ++i) {
    all.push_back(acre_malloc(bytes));
    if (i % 7 == 3) empty_heap(*heap_if_any());
    if (i % 3 == 0 && all.size() > 2) {
      acre_free(all[all.size() / 2]);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
    }
  }
  for (void* block : all) acre_free(block);
}
// Threads that come and go, and free what others allocated.
void in_threads(size_t bytes, size_t blocks) {
  std::vector<void*> mine(blocks / 2), others(blocks - blocks / 2);
  std::thread([&] {
    for (void*& block : mine) block = acre_malloc(bytes);
  }).join();
  std::thread([&] {
    for (void*& block : others) block = acre_malloc(bytes);
    for (void* block : mine) acre_free(block);
  }).join();
  for (void* block : others) acre_free(block);
}

struct Case {
  const char* name;
  Pattern pattern;
};
const Case kPatterns[] = {{"one by one", one_by_one},
                          {"all at once", all_at_once},
                          {"lists given up", with_lists_given_up},
                          {"threads", in_threads}};

TEST_F(Profile, EstimatesAreUnbiasedAndAsExactAsClaimed) {
  for (const Case& c : kPatterns) {
    SCOPED_TRACE(c.name);
    std::vector<Estimate> all;
    for (size_t bytes : {8, 48, 1000, 4096, 20000, 40000}) {
      for (uint64_t mean : {100, 4000, 30000}) {
        if (bytes > mean * 8) continue;  // all are sampled: there is nothing to estimate
        if (ACRE_TSAN && mean > 10000) continue;  // it would take minutes
        const size_t blocks = std::max<size_t>(200, 60 * mean / bytes);
        const auto some = run_pattern(c.pattern, bytes, mean, blocks, 12);
        all.insert(all.end(), some.begin(), some.end());
      }
    }
    expect_normal(all);
  }
}

// What docs/profiling.md says of an interval: each of several places, in the same program at the same time, is told
// within twice its deviation in 95 runs of 100, by blocks and by bytes.
TEST_F(Profile, EachPlaceIsWithinItsIntervalAsOftenAsClaimed) {
  constexpr uint64_t kMean = 8 << 10;
  constexpr unsigned kSeeds = ACRE_TSAN ? 100 : 400;
  constexpr struct {
    size_t bytes, blocks;
  } kPlaces[] = {{48, 20000}, {1024, 2000}, {16384, 150}};
  unsigned within[std::size(kPlaces)] = {};
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    begin(kMean, seed);
    for (size_t i = 0; i < 20000; ++i) {
      if (i < kPlaces[0].blocks) acre_free(here(kPlaces[0].bytes));
      if (i < kPlaces[1].blocks) acre_free(there(kPlaces[1].bytes));
      if (i < kPlaces[2].blocks) acre_free(acre_malloc(kPlaces[2].bytes));
    }
    profile::set_active(false);
    double blocks[std::size(kPlaces)] = {};
    for (const profile::StackSums& sums : all_sums()) {
      for (size_t i = 0; i < std::size(kPlaces); ++i) {
        if (sums.allocated.bytes != sums.allocated.blocks * kPlaces[i].bytes) continue;
        blocks[i] += sums.allocated.estimated_blocks;
        const double bytes = sums.allocated.estimated_blocks * static_cast<double>(kPlaces[i].bytes);
        EXPECT_NEAR(sums.allocated.estimated_bytes, bytes, 1);
      }
    }
    for (size_t i = 0; i < std::size(kPlaces); ++i) {
      const double deviation =
          estimate_blocks(kPlaces[i].bytes, kMean, static_cast<double>(kPlaces[i].blocks), blocks[i]).deviation();
      EXPECT_LT(std::abs(deviation), 5.3) << "place " << i << ", seed " << seed;
      within[i] += std::abs(deviation) <= 2;
    }
  }
  const double spread = std::sqrt(0.95 * 0.05 * kSeeds);
  for (unsigned count : within) EXPECT_NEAR(count, 0.9545 * kSeeds, 4 * spread);
}

TEST_F(Profile, ChildrenOfForkGoOn) {
  begin(0, 1);
  void* block = here(100);
  const pid_t child = fork();
  if (child == 0) {
    void* own = here(100);
    const bool two = profile::totals().live.blocks == 2;
    acre_free(block);
    acre_free(own);
    _exit(two && profile::totals().live.blocks == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(profile::totals().live.blocks, 1u);
  acre_free(block);
}

}  // namespace
}  // namespace acre
