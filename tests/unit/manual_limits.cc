// manual/manual_arena, manual/soft_limit: limits of arenas that the program makes.
#include <errno.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "acre/acre.h"
#include "acre/jemalloc.h"
#include "manual/manual_arena.h"
#include "pages/limit.h"
#include "support.h"

namespace acre {
namespace {

using arenas::allocate_in;

TEST(ManualArenas, ALimitHolds) {
  for (size_t n : {size_t{100}, size_t{10000}, size_t{100000}, size_t{3} << 20}) {
    ManualArena* arena = arenas::create({.limit = size_t{8} << 20});
    size_t bytes = 0;
    std::vector<void*> blocks;
    while (void* p = allocate_in(*arena, n, 1, false)) {
      blocks.push_back(p);
      bytes += n;
      ASSERT_LE(bytes, size_t{8} << 20);
    }
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_GE(bytes, size_t{6} << 20) << n;
    EXPECT_LE(arenas::bytes_in_use(*arena), size_t{8} << 20);
    for (void* p : blocks) acre_free(p);
    EXPECT_NE(allocate_in(*arena, size_t{4} << 20, 1, false), nullptr) << "what was freed may be used for other sizes";
    arenas::destroy(*arena);
  }
}

TEST(ManualArenas, ALimitHoldsForHugeBlocksToo) {
  ManualArena* arena = arenas::create({.limit = size_t{200} << 20});
  void* p = allocate_in(*arena, size_t{150} << 20, 1, false);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(allocate_in(*arena, size_t{100} << 20, 1, false), nullptr);
  EXPECT_EQ(acre_realloc(p, size_t{201} << 20), nullptr);
  p = acre_realloc(p, size_t{190} << 20);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(allocate_in(*arena, size_t{20} << 20, 1, false), nullptr);
  p = acre_realloc(p, size_t{100} << 20);
  EXPECT_NE(allocate_in(*arena, size_t{90} << 20, 1, false), nullptr);
  arenas::destroy(*arena);
}

// --- The soft limit -----------------------------------------------------------------------------------------------

struct Called {
  int times = 0;
  size_t bytes = 0;
  std::vector<void*> to_free;

  static void call(acre_heap* heap, size_t bytes, void* argument) {
    auto* called = static_cast<Called*>(argument);
    ++called->times;
    called->bytes = bytes;
    acre_free(allocate_in(*reinterpret_cast<ManualArena*>(heap), 100, 1, false));  // which does not call it again
    for (void* p : called->to_free) acre_free(p);
    called->to_free.clear();
    errno = 1;
  }
};

class ManualSoftLimit : public testing::Test {
 protected:
  static constexpr size_t kMiB = size_t{1} << 20;
  ~ManualSoftLimit() override { arenas::destroy(*arena); }
  void make(size_t soft, size_t hard = SIZE_MAX) {
    arena = arenas::create({.limit = hard,
                            .soft_limit = soft,
                            .on_soft_limit = Called::call,
                            .argument = &called,
                            .dirty_decay_ms = -1});
  }
  void* allocate(size_t n) {
    errno = 0;
    void* p = allocate_in(*arena, n, 1, false);
    EXPECT_EQ(errno, p == nullptr ? ENOMEM : 0);
    return p;
  }
  size_t held() { return arenas::bytes_in_use(*arena) + arena->arena.pages.dirty_pages() * kPageBytes; }

  Called called;
  ManualArena* arena = nullptr;
};

TEST_F(ManualSoftLimit, UnusedPagesGoBackAndNobodyIsCalled) {
  make(10 * kMiB);
  for (int round = 0; round < 20; ++round) {
    std::vector<void*> blocks;
    for (size_t n : {100000, 300000, 3000000, 70000}) blocks.push_back(allocate(n * (1 + static_cast<size_t>(round) % 3)));
    EXPECT_LE(held(), 11 * kMiB);
    for (void* p : blocks) acre_free(p);
  }
  EXPECT_EQ(called.times, 0);
  EXPECT_GT(arena->arena.pages.counts().purged, 0u);
}

TEST_F(ManualSoftLimit, ThenTheProgramIsCalled) {
  make(10 * kMiB);
  while (called.times == 0) ASSERT_NE(allocate(100000), nullptr);
  EXPECT_GT(called.bytes, 10 * kMiB);
  EXPECT_LE(called.bytes, 11 * kMiB);
  const size_t first = called.bytes;
  while (called.times == 1) ASSERT_NE(allocate(20000), nullptr);
  EXPECT_GE(called.bytes, first + 10 * kMiB / 16);
  arenas::reset(*arena);
  called.times = 0;
  ASSERT_NE(allocate(80 * kMiB), nullptr);
  EXPECT_EQ(called.times, 1) << "huge blocks count";
}

TEST_F(ManualSoftLimit, WhatIsFreedThenMayMakeRoomBelowTheHardLimit) {
  make(5 * kMiB, 10 * kMiB);
  for (int i = 0; i < 4; ++i) called.to_free.push_back(allocate(kMiB));
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) {
    blocks.push_back(allocate(kMiB));
    ASSERT_NE(blocks.back(), nullptr) << i;
  }
  EXPECT_GE(called.times, 1);
  EXPECT_EQ(allocate(8 * kMiB), nullptr) << "nothing more to give";
  const int before = called.times;
  called.to_free = blocks;
  EXPECT_NE(allocate(8 * kMiB), nullptr);
  EXPECT_EQ(called.times, before + 1);
}

TEST_F(ManualSoftLimit, OneThreadAtATimeIsCalled) {
  static std::atomic<int> inside;
  static std::atomic<int> calls;
  calls = 0;
  const auto call = [](acre_heap*, size_t, void*) {
    EXPECT_EQ(inside.fetch_add(1), 0);
    ++calls;
    std::this_thread::yield();
    --inside;
  };
  arena = arenas::create({.soft_limit = kMiB, .on_soft_limit = call});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      std::vector<void*> blocks;
      for (size_t i = 0; i < 3000; ++i) {
        blocks.push_back(allocate_in(*arena, 100 + i % 7 * 5000, 1, false));
        if (i % 3 == 0) acre_free(blocks[i / 2]), blocks[i / 2] = nullptr;
      }
      for (void* p : blocks) acre_free(p);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(calls, 0);
}

TEST_F(ManualSoftLimit, TheNextArenaHasItsOwn) {
  make(kMiB);
  arenas::destroy(*arena);
  arena = arenas::create({});
  EXPECT_NE(allocate(5 * kMiB), nullptr);
  EXPECT_EQ(called.times, 0);
}

// --- The process's limit ------------------------------------------------------------------------------------------

class UnderHardLimit : public testing::Test {
 protected:
  static constexpr size_t kMiB = size_t{1} << 20;
  ~UnderHardLimit() override { set(0); }
  static void set(size_t bytes) {
    ssize_t value = static_cast<ssize_t>(bytes);
    EXPECT_EQ(acre_mallctl("opt.hard_limit", nullptr, nullptr, &value, sizeof value), 0);
  }
};

TEST_F(UnderHardLimit, BothLimitsHoldAndWhatIsRefusedIsNotCounted) {
  ManualArena* arena = arenas::create({.limit = 300 * kMiB});
  acre_free(allocate_in(*arena, 70 * kMiB, 1, false));  // headers
  const size_t before = limit::held();
  constexpr size_t kSlack = 64 << 10;  // headers
  set(before + 200 * kMiB);
  void* p = allocate_in(*arena, 150 * kMiB, 1, false);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(allocate_in(*arena, 100 * kMiB, 1, false), nullptr) << "the process's limit";
  EXPECT_EQ(acre_realloc(p, 210 * kMiB), nullptr);
  EXPECT_EQ(arenas::bytes_in_use(*arena), 150 * kMiB);
  set(0);
  EXPECT_EQ(allocate_in(*arena, 200 * kMiB, 1, false), nullptr) << "the arena's";
  EXPECT_EQ(acre_realloc(p, 301 * kMiB), nullptr);
  os::testing::refuse_requests(0, 1000);
  EXPECT_EQ(allocate_in(*arena, 100 * kMiB, 1, false), nullptr) << "the system";
  EXPECT_EQ(acre_realloc(p, 200 * kMiB), nullptr);
  os::testing::refuse_nothing();
  EXPECT_EQ(arenas::bytes_in_use(*arena), 150 * kMiB);
  EXPECT_LE(limit::held(), before + 150 * kMiB + kSlack);
  p = acre_realloc(p, 290 * kMiB);  // at no moment are both in use
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(arenas::bytes_in_use(*arena), 290 * kMiB);
  EXPECT_LE(limit::held(), before + 290 * kMiB + kSlack);
  p = acre_realloc(p, 100 * kMiB);
  EXPECT_EQ(arenas::bytes_in_use(*arena), 100 * kMiB);
  arenas::destroy(*arena);
  EXPECT_LE(limit::held(), before + kSlack);
}

TEST_F(UnderHardLimit, BlocksOfAllSizesKeepToItAndItsDirtyPagesMakeRoom) {
  ManualArena* arena = arenas::create({});
  set(limit::held() + 20 * kMiB);
  for (size_t n : {size_t{100}, size_t{10000}, size_t{100000}, size_t{3} << 20}) {
    const size_t before = limit::held();
    size_t bytes = 0;
    std::vector<void*> blocks;
    blocks.reserve(1 << 18);
    while (void* p = allocate_in(*arena, n, 1, false)) {
      blocks.push_back(p);
      bytes += n;
      ASSERT_LE(bytes, 21 * kMiB + before);
    }
    EXPECT_GE(bytes, 15 * kMiB) << n;
    for (void* p : blocks) acre_free(p);
  }
  // What the arena has is dirty now; others get it.
  void* p = acre_malloc(15 * kMiB);
  EXPECT_NE(p, nullptr);
  acre_free(p);
  arenas::destroy(*arena);
}

}  // namespace
}  // namespace acre
