// A lock of four bytes on a futex, with a rank.
//
// Ranks order the locks: a thread may only take a lock whose rank is higher than those it holds (checked in
// debug builds). No lock is held over a system call, so a holder is never asleep for long and a short spin
// mostly suffices.
//
// fork: the forking thread takes all locks (heap/registry.cc). Between the prepare and the parent or child
// handler it owns them all, and other libraries' handlers may allocate in that time: for this thread alone
// lock and unlock then do nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/compiler.h"
#include "base/thread_token.h"

namespace acre {

enum class Rank : uint8_t {
  kControl = 1,    // what ctl reports from
  kSamples = 2,    // the heap profiler's tables
  kRegistry = 3,   // list of heaps, arena assignment
  kExplicit = 4,   // explicit arenas: which there are, and the numbers that some have
  kHeaps = 5,      // an explicit arena's heaps
  kWatched = 6,    // runs of watched blocks
  kBin = 7,
  kPages = 8,      // an arena's page runs
  kHuge = 9,
  kFile = 10,      // which parts of a file are in use
  kSegment = 11,   // the end of the data segment
  kWindow = 12,    // the address window and the page map's limit
  kUnits = 13,     // spare headers of slab runs
  kMetadata = 14,
};

class ACRE_CAPABILITY("mutex") Mutex {
 public:
  explicit constexpr Mutex(Rank rank) : rank_(rank) {}

  void lock() ACRE_ACQUIRE() {
    uint32_t expected = kFree;
    if (ACRE_UNLIKELY(!state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire))) lock_slow();
    if (ACRE_DEBUG) check_order();
  }

  void unlock() ACRE_RELEASE() {
    if (ACRE_UNLIKELY(forking_thread_.load(std::memory_order_relaxed) != kNoThread) && this_thread_forks()) return;
    if (ACRE_DEBUG) leave_order();
    if (ACRE_UNLIKELY(state_.exchange(kFree, std::memory_order_release) == kWaitedFor)) wake_one();
  }

  // How often a thread had to wait for this lock.
  uint32_t contentions() const { return contentions_.load(std::memory_order_relaxed); }

  // fork takes every lock, in the order of ranks, and holds them from begin_fork to end_fork. In the child
  // nobody else can wait.
  void before_fork() ACRE_NO_THREAD_SAFETY_ANALYSIS {
    uint32_t expected = kFree;
    if (!state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire)) lock_slow();
  }
  void after_fork_in_parent() ACRE_NO_THREAD_SAFETY_ANALYSIS {
    if (state_.exchange(kFree, std::memory_order_release) == kWaitedFor) wake_one();
  }
  void after_fork_in_child() { state_.store(kFree, std::memory_order_relaxed); }
  // Whether the calling thread is between begin_fork() and end_fork().
  static bool this_thread_forks() { return forking_thread_.load(std::memory_order_relaxed) == this_thread(); }
  static void begin_fork() { forking_thread_.store(this_thread(), std::memory_order_relaxed); }
  static void end_fork() { forking_thread_.store(kNoThread, std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kFree = 0, kHeld = 1, kWaitedFor = 2;

  ACRE_COLD void lock_slow();
  ACRE_COLD void wake_one();
  void check_order() const;
  void leave_order() const;

  static inline constinit std::atomic<ThreadToken> forking_thread_{kNoThread};

  std::atomic<uint32_t> state_{kFree};
  std::atomic<uint32_t> contentions_{0};
  [[maybe_unused]] Rank rank_;  // debug builds check it
};

class ACRE_SCOPED_CAPABILITY Lock {
 public:
  explicit Lock(Mutex& mutex) ACRE_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Lock() ACRE_RELEASE() { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace acre
