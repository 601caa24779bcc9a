// pages/decay: the curve of what may stay dirty, by a clock of the test's own.
#include "pages/decay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "support.h"

namespace acre {
namespace {

constexpr uint64_t kStart = 1000000;

TEST(Decay, FallsFromAllToNothing) {
  for (int64_t time : {100, 1000, 10000, 60000}) {
    Decay decay;
    decay.set_time(time);
    decay.advance(kStart, 0);
    const uint64_t step = static_cast<uint64_t>(time) / 100;
    constexpr size_t kPages = 100000;
    ASSERT_TRUE(decay.advance(kStart + step, kPages));
    size_t last = decay.allowed();
    EXPECT_GT(last, kPages * 99 / 100) << "at first nearly all may stay";
    for (uint64_t epoch = 2; epoch <= 100; ++epoch) {
      ASSERT_TRUE(decay.advance(kStart + epoch * step, kPages));
      ASSERT_LE(decay.allowed(), last) << "epoch " << epoch;
      last = decay.allowed();
      if (epoch == 50) {
        EXPECT_GT(last, kPages * 45 / 100);
        EXPECT_LT(last, kPages * 57 / 100);
      }
    }
    EXPECT_EQ(last, 0u) << "after " << time << " ms";
  }
}

TEST(Decay, NothingChangesWithinAnEpoch) {
  Decay decay;
  decay.set_time(10000);
  EXPECT_FALSE(decay.advance(kStart, 5));
  EXPECT_FALSE(decay.advance(kStart + 99, 500));
  EXPECT_TRUE(decay.advance(kStart + 100, 500));
  EXPECT_FALSE(decay.advance(kStart + 199, 900));
  EXPECT_FALSE(decay.advance(kStart + 150, 900)) << "a coarse clock of another processor";
  EXPECT_TRUE(decay.advance(kStart + 200, 900));
}

TEST(Decay, ALongPauseEndsEverything) {
  Decay decay;
  decay.set_time(10000);
  decay.advance(kStart, 0);
  decay.advance(kStart + 100, 5000);
  ASSERT_TRUE(decay.advance(kStart + 100 + 10000, 5000));
  EXPECT_EQ(decay.allowed(), 0u);
  ASSERT_TRUE(decay.advance(kStart + (uint64_t{1} << 50), 5000));
  EXPECT_EQ(decay.allowed(), 0u);
}

TEST(Decay, AtOnceAndNever) {
  Decay at_once;
  at_once.set_time(0);
  EXPECT_FALSE(at_once.advance(kStart, 0));
  EXPECT_TRUE(at_once.advance(kStart, 1));
  EXPECT_EQ(at_once.allowed(), 0u);

  Decay never;
  never.set_time(-1);
  for (uint64_t now = 0; now < 100; ++now) EXPECT_FALSE(never.advance(kStart + (now << 30), 1000000));
  EXPECT_EQ(never.allowed(), SIZE_MAX);
}

// next_release() says what looking at every epoch would find.
TEST(Decay, NextReleaseIsTheFirstEpochThatAllowsFewer) {
  for (const size_t fresh : {1u, 100u, 100000u}) {
    Decay decay(10000);
    decay.advance(kStart, 0);
    decay.advance(kStart + 100, fresh / 2);
    decay.advance(kStart + 3000, fresh / 2);
    size_t dirty = fresh;
    uint64_t now = kStart + 3050;
    while (dirty != 0) {
      const uint64_t next = decay.next_release(now, dirty);
      ASSERT_GT(next, now);
      ASSERT_LE(next, kStart + 3100 + 10000);
      for (; now < next; now += 50) {
        decay.advance(now, dirty);
        if (now >= kStart + 3100) {
          ASSERT_GE(decay.allowed(), dirty) << now;
        }
      }
      now = next;
      ASSERT_TRUE(decay.advance(now, dirty));
      ASSERT_LT(decay.allowed(), dirty);
      dirty = decay.allowed();
      decay.settle(dirty);
    }
  }
}

TEST(Decay, NextReleaseAtOnceAndNever) {
  EXPECT_EQ(Decay(-1).next_release(kStart, 1000), kNever);
  EXPECT_EQ(Decay(10000).next_release(kStart, 0), kNever);
  EXPECT_EQ(Decay(0).next_release(kStart, 1), kStart);
  EXPECT_GT(Decay(10000).next_release(kStart, 1000), kStart) << "never advanced";
}

TEST(Decay, ANewTimeMakesAllPagesFresh) {
  Decay decay(10000);
  decay.advance(kStart, 0);
  decay.advance(kStart + 100, 1000);
  decay.advance(kStart + 9000, 1000);
  decay.set_time(1000);
  EXPECT_EQ(decay.allowed(), SIZE_MAX);
  decay.advance(kStart + 9000, 1000);
  decay.advance(kStart + 9010, 1000);
  EXPECT_GT(decay.allowed(), 990u);
  decay.advance(kStart + 10010, 1000);
  EXPECT_EQ(decay.allowed(), 0u);
}

// Pages come and go and are purged to what is allowed; looked at each epoch, no page that became dirty more
// than the decay time ago can still be counted for.
class DecayFuzz : public testing::TestWithParam<int> {};

TEST_P(DecayFuzz, NoPageStaysLonger) {
  test::Random random(static_cast<uint64_t>(GetParam()));
  const uint64_t time = 1000;
  const uint64_t step = time / 100;
  Decay decay;
  decay.set_time(static_cast<int64_t>(time));
  struct Dirtied {
    uint64_t when;
    size_t pages;
  };
  std::deque<Dirtied> dirtied;  // within the decay time
  size_t dirty = 0;
  uint64_t now = kStart;
  decay.advance(now, 0);
  for (int epoch = 0; epoch < 2000; ++epoch) {
    now += step;
    if (random.one_in(3) && (epoch / 200) % 2 == 0) {
      const size_t pages = random.below(10000);
      dirty += pages;
      dirtied.push_back({now, pages});
    }
    if (random.one_in(7)) dirty -= random.below(dirty + 1);  // used again
    ASSERT_TRUE(decay.advance(now, dirty));
    while (!dirtied.empty() && dirtied.front().when + time <= now) dirtied.pop_front();
    size_t recent = 0;
    for (const Dirtied& part : dirtied) recent += part.pages;
    ASSERT_LE(decay.allowed(), recent) << "epoch " << epoch;
    if (dirty > decay.allowed()) {
      dirty = decay.allowed();
      decay.settle(dirty);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, DecayFuzz, testing::Range(1, 9));

}  // namespace
}  // namespace acre
