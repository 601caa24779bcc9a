// base/mutex: exclusion among threads, ranks, and what fork needs of it.
#include "base/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace acre {
namespace {

TEST(Mutex, OneHolderAtATime) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 20000;
  Mutex mutex{Rank::kBin};
  int inside = 0;
  long rounds = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        Lock lock(mutex);
        ASSERT_EQ(++inside, 1);
        ++rounds;
        if (round % 64 == 0) std::this_thread::yield();  // so that others have to wait, with luck asleep
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(rounds, kThreads * kRounds);
}

TEST(Mutex, AWaiterIsWokenUpAndCounted) {
  Mutex mutex{Rank::kBin};
  mutex.lock();
  std::atomic<bool> got_it{false};
  std::thread waiter([&] {
    Lock lock(mutex);
    got_it = true;
  });
  while (mutex.waiting() == 0) std::this_thread::yield();
  EXPECT_FALSE(got_it);
  mutex.unlock();
  waiter.join();
  EXPECT_TRUE(got_it);
  const LockCounts counts = mutex.counts();
  EXPECT_EQ(counts.acquisitions, 2u);
  EXPECT_EQ(counts.waits + counts.spins, 1u);
  EXPECT_GT(counts.wait_ns, 0u);
  EXPECT_EQ(counts.longest_wait_ns, counts.wait_ns) << "it was the only one";
  EXPECT_EQ(counts.most_waiting, 1u);
  EXPECT_EQ(mutex.waiting(), 0u);
}

TEST(Mutex, SleepersAreCounted) {
  Mutex mutex{Rank::kBin};
  mutex.lock();
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] { Lock lock(mutex); });
  }
  while (mutex.waiting() < 3) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // longer than they stay awake
  mutex.unlock();
  for (std::thread& thread : threads) thread.join();
  const LockCounts counts = mutex.counts();
  EXPECT_EQ(counts.acquisitions, 4u);
  EXPECT_EQ(counts.waits + counts.spins, 3u);
  EXPECT_GE(counts.waits, 1u);
  EXPECT_EQ(counts.most_waiting, 3u);
  EXPECT_GE(counts.longest_wait_ns * 3, counts.wait_ns);
  EXPECT_LE(counts.longest_wait_ns, counts.wait_ns);
}

TEST(Mutex, RanksInOrder) {
  Mutex low{Rank::kRegistry}, middle{Rank::kPages}, high{Rank::kMetadata};
  low.lock();
  middle.lock();
  high.lock();
  low.unlock();  // in any order
  high.unlock();
  high.lock();
  middle.unlock();
  high.unlock();
  Lock again(low);
}

#if ACRE_DEBUG
using MutexDeathTest = testing::Test;

TEST(MutexDeathTest, ALowerRankEndsTheProgram) {
  EXPECT_DEATH(
      {
        Mutex low{Rank::kBin};
        Mutex high{Rank::kPages};
        high.lock();
        low.lock();
      },
      "acre: internal error: held.* does not hold");
}

TEST(MutexDeathTest, TheSameRankTwiceEndsTheProgram) {
  EXPECT_DEATH(
      {
        Mutex one{Rank::kBin};
        Mutex other{Rank::kBin};
        one.lock();
        other.lock();
      },
      "acre: internal error: held.* does not hold");
}
#endif

// Between begin_fork and end_fork the forking thread holds all locks: for it they do nothing, for others
// they are taken.
TEST(Mutex, ForkHoldsTheLockAgainstOthersOnly) {
  Mutex mutex{Rank::kWindow};
  mutex.before_fork();
  Mutex::begin_fork();
  mutex.lock();
  mutex.unlock();
  std::atomic<bool> got_it{false};
  std::thread other([&] {
    Lock lock(mutex);
    got_it = true;
  });
  while (mutex.waiting() == 0) std::this_thread::yield();
  {
    Lock lock(mutex);
  }
  EXPECT_FALSE(got_it);
  Mutex::end_fork();
  mutex.after_fork_in_parent();
  other.join();
  EXPECT_TRUE(got_it);
}

TEST(Mutex, AfterForkTheChildFindsItFree) {
  Mutex mutex{Rank::kWindow};
  mutex.before_fork();
  mutex.after_fork_in_child();
  std::thread other([&] { Lock lock(mutex); });
  other.join();
  Lock lock(mutex);
}

}  // namespace
}  // namespace acre
