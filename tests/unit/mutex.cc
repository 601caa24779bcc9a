// base/mutex: exclusion among threads, ranks, and what fork needs of it.
#include "base/mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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

using MutexDeathTest = testing::Test;

TEST(MutexDeathTest, ALockOfItsOwnEndsTheProgram) {
  EXPECT_DEATH(
      {
        Mutex mutex{Rank::kBin};
        mutex.lock();
        mutex.lock();
      },
      "acre: malloc or free in a signal handler that interrupted malloc or free");
}

#if ACRE_DEBUG
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
  mutex.at_fork(ForkStage::kBefore);
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
  mutex.at_fork(ForkStage::kInParent);
  other.join();
  EXPECT_TRUE(got_it);
}

TEST(Mutex, AfterForkTheChildFindsItFree) {
  Mutex mutex{Rank::kWindow};
  mutex.at_fork(ForkStage::kBefore);
  mutex.at_fork(ForkStage::kInChild);
  std::thread other([&] { Lock lock(mutex); });
  other.join();
  Lock lock(mutex);
}

// --- A fork in a signal handler that interrupted a holder ---------------------------------------------------------

TEST(Mutex, ALockHeldBeforeAForkIsHeldAfterIt) {
  Mutex mutex{Rank::kWindow};
  mutex.lock();
  EXPECT_FALSE(mutex.at_fork(ForkStage::kBefore));
  Mutex::begin_fork();
  {
    Lock lock(mutex);
  }
  Mutex::end_fork();
  mutex.at_fork(ForkStage::kInParent);
  std::atomic<bool> got_it{false};
  std::thread other([&] {
    Lock lock(mutex);
    got_it = true;
  });
  while (mutex.waiting() == 0) std::this_thread::yield();
  EXPECT_FALSE(got_it);
  mutex.unlock();
  other.join();
  EXPECT_TRUE(got_it);
}

TEST(Mutex, ALockHeldBeforeAForkIsHeldInTheChild) {
  Mutex mutex{Rank::kWindow};
  mutex.lock();
  mutex.at_fork(ForkStage::kBefore);
  EXPECT_FALSE(mutex.at_fork(ForkStage::kInChild)) << "what it guards may be half changed";
  mutex.unlock();
  Lock again(mutex);
}

// Takes `outer` and waits for `inner`, which the calling thread has locked.
std::thread waiter_for(Mutex& outer, Mutex& inner) {
  std::thread waiter([&] {
    Lock first(outer);
    Lock second(inner);
  });
  while (inner.waiting() == 0) std::this_thread::yield();
  return waiter;
}

TEST(Mutex, AForkPassesByALockWhoseHolderWaitsForTheThread) {
  Mutex outer{Rank::kRegistry}, inner{Rank::kBin};
  inner.lock();
  std::thread waiter = waiter_for(outer, inner);
  const unsigned attempt = Mutex::begin_attempt();
  EXPECT_FALSE(outer.at_fork(ForkStage::kBefore));
  EXPECT_TRUE(Mutex::is_in_vain(attempt)) << "the first time that a thread has to pass a lock by";
  EXPECT_FALSE(inner.at_fork(ForkStage::kBefore));
  inner.at_fork(ForkStage::kInParent);
  outer.at_fork(ForkStage::kInParent);
  const unsigned next = Mutex::begin_attempt();
  EXPECT_FALSE(outer.at_fork(ForkStage::kBefore));
  EXPECT_FALSE(inner.at_fork(ForkStage::kBefore));
  EXPECT_FALSE(Mutex::is_in_vain(next));
  inner.at_fork(ForkStage::kInParent);
  outer.at_fork(ForkStage::kInParent);
  Mutex::end_attempt();
  inner.unlock();
  waiter.join();
  Lock lock(outer);
}

TEST(Mutex, ALockThatWasPassedByIsFreeInTheChild) {
  if (ACRE_TSAN) GTEST_SKIP() << "ThreadSanitizer ends children of a process with threads";
  Mutex outer{Rank::kRegistry}, inner{Rank::kBin};
  inner.lock();
  std::thread waiter = waiter_for(outer, inner);
  outer.at_fork(ForkStage::kBefore);
  inner.at_fork(ForkStage::kBefore);
  const pid_t child = fork();
  if (child == 0) {
    const bool right = outer.at_fork(ForkStage::kInChild) && !inner.at_fork(ForkStage::kInChild);
    Mutex::end_fork_in_child();
    inner.unlock();
    outer.lock();
    _exit(right ? 9 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 9);
  inner.at_fork(ForkStage::kInParent);
  outer.at_fork(ForkStage::kInParent);
  Mutex::end_attempt();
  inner.unlock();
  waiter.join();
}

// Both threads hold a lock, as if in a handler that interrupted its holder, and are about to fork: one goes first.
TEST(Mutex, OneOfTwoForksGoesFirst) {
  Mutex mine{Rank::kPages}, other{Rank::kHuge};
  const auto fork_with = [&](Mutex& held) {
    Lock lock(held);
    for (;;) {
      const unsigned attempt = Mutex::begin_attempt();
      mine.at_fork(ForkStage::kBefore);
      other.at_fork(ForkStage::kBefore);
      const bool in_vain = Mutex::is_in_vain(attempt);
      other.at_fork(ForkStage::kInParent);
      mine.at_fork(ForkStage::kInParent);
      if (!in_vain) break;
    }
    Mutex::end_attempt();
  };
  for (int round = 0; round < 200; ++round) {
    std::thread thread([&] { fork_with(other); });
    fork_with(mine);
    thread.join();
  }
  Lock first(mine);
  Lock second(other);
}

}  // namespace
}  // namespace acre
