// A lock on a futex, with a rank, and counts of its use.
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

#include "base/atomics.h"
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
  // No other lock is taken with one of these, nor one of these with another.
  kLabels = 15,    // spare labels of runs
  kTags = 16,      // which tags there are
  kTrace = 17,     // lines of the trace
  kCallback = 18,  // what the program wants to be called for the soft limit
};
inline constexpr unsigned kRanks = static_cast<unsigned>(Rank::kCallback) + 1;

// What became of a lock's users so far. All but the last are written by the lock's holder.
struct LockCounts {
  uint64_t acquisitions = 0;
  uint64_t waits = 0;         // that a thread slept through
  uint64_t spins = 0;         // that were over before that
  uint64_t wait_ns = 0;       // of both
  uint64_t longest_wait_ns = 0;
  uint64_t most_waiting = 0;  // threads at the same time

  // Another lock's that stands for the same in statistics.
  void add(const LockCounts& other);
};

class ACRE_CAPABILITY("mutex") Mutex {
 public:
#if ACRE_DEBUG
  explicit constexpr Mutex(Rank rank) : rank_(rank) {}
#else
  explicit constexpr Mutex(Rank) {}
#endif

  void lock() ACRE_ACQUIRE() {
    uint32_t expected = kFree;
    if (ACRE_UNLIKELY(!state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire))) lock_slow();
    relaxed_add(acquisitions_, uint64_t{1});
    if (ACRE_DEBUG) check_order();
  }

  void unlock() ACRE_RELEASE() {
    if (ACRE_UNLIKELY(forking_thread_.load(std::memory_order_relaxed) != kNoThread) && this_thread_forks()) return;
    if (ACRE_DEBUG) leave_order();
    if (ACRE_UNLIKELY(state_.exchange(kFree, std::memory_order_release) == kWaitedFor)) wake_one();
  }

  // Without the lock: of a recent moment.
  LockCounts counts() const;
  // Threads that wait for it now.
  unsigned waiting() const { return waiting_.load(std::memory_order_relaxed); }

  // fork takes every lock, in the order of ranks, and holds them from begin_fork to end_fork. In the child
  // nobody else can wait.
  void before_fork() ACRE_NO_THREAD_SAFETY_ANALYSIS {
    uint32_t expected = kFree;
    if (!state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire)) lock_slow();
  }
  void after_fork_in_parent() ACRE_NO_THREAD_SAFETY_ANALYSIS {
    if (state_.exchange(kFree, std::memory_order_release) == kWaitedFor) wake_one();
  }
  void after_fork_in_child() {
    state_.store(kFree, std::memory_order_relaxed);
    waiting_.store(0, std::memory_order_relaxed);
  }
  // Whether the calling thread is between begin_fork() and end_fork().
  static bool this_thread_forks() { return forking_thread_.load(std::memory_order_relaxed) == this_thread(); }
  static void begin_fork() { forking_thread_.store(this_thread(), std::memory_order_relaxed); }
  static void end_fork() { forking_thread_.store(kNoThread, std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kFree = 0, kHeld = 1, kWaitedFor = 2;

  ACRE_COLD void lock_slow();
  bool spin();
  void sleep();
  ACRE_COLD void wake_one();
  void check_order() const;
  void leave_order() const;

  static inline constinit std::atomic<ThreadToken> forking_thread_{kNoThread};

  std::atomic<uint32_t> state_{kFree};
  std::atomic<uint16_t> waiting_{0};
  uint16_t most_waiting_ = 0;
  uint64_t acquisitions_ = 0;
  uint64_t waits_ = 0;
  uint64_t spins_ = 0;
  uint64_t wait_ns_ = 0;
  uint64_t longest_wait_ns_ = 0;
#if ACRE_DEBUG
  Rank rank_;
#endif
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
