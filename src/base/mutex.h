// A lock on a futex, with a rank, and counts of its use.
//
// Ranks order the locks: a thread may only take a lock whose rank is higher than those it holds (checked in
// debug builds). No lock is held over a system call, so a holder is never asleep for long and a short spin
// mostly suffices.
//
// fork: the forking thread takes all locks (process/fork.cc). Between the prepare and the parent or child
// handler it owns them all, and other libraries' handlers may allocate in that time: for this thread alone
// lock and unlock then do nothing.
//
// fork from a signal handler: the interrupted code may hold locks, which the thread keeps over the fork. If another
// thread waits for one of these, whatever it holds itself cannot be had. So one thread at a time may pass by locks
// whose holders wait for it; other threads that are about to fork leave the locks that they have taken for that, and
// begin anew when it is done. What a lock guards that is passed by is whole, since a thread waits for a second lock
// only where what the first guards is whole; unless the holder, too, was interrupted and is about to fork: then the
// child cannot have that lock, and ends if it needs it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/atomics.h"
#include "base/compiler.h"
#include "base/thread_token.h"

namespace acre {

enum class Rank : uint8_t {
  kFork = 0,       // whose turn it is to fork
  kControl = 1,    // what ctl reports from
  kSamples = 2,    // the heap profiler's tables
  kRegistry = 3,   // list of heaps, arena assignment
  kManual = 4,   // manual arenas: which there are, and the numbers that some have
  kHeaps = 5,      // a manual arena's heaps
  kSampled = 6,    // runs of sampled blocks
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

// The handlers of a fork run in these stages: before the fork in the forking thread, then in both processes.
enum class ForkStage : uint8_t { kBefore, kInParent, kInChild };

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
    uint64_t expected = kFree;
    if (ACRE_UNLIKELY(!state_.compare_exchange_strong(expected, this_thread(), std::memory_order_acquire))) lock_slow();
    relaxed_add(acquisitions_, uint64_t{1});
    if (ACRE_DEBUG) check_order();
  }

  void unlock() ACRE_RELEASE() {
    if (ACRE_DEBUG) leave_order();
    if (ACRE_UNLIKELY(forking_thread_.load(std::memory_order_relaxed) != kNoThread)) return unlock_while_forking();
    leave();
  }

  // Without the lock: of a recent moment.
  LockCounts counts() const;
  // Threads that wait for it now.
  unsigned waiting() const { return waiting_.load(std::memory_order_relaxed); }

  // fork takes every lock, in the order of ranks, before begin_fork, and leaves them after end_fork in the parent,
  // before end_fork_in_child in the child. A lock that the thread has held before is its own afterwards, too. An
  // attempt to take them all may fail, because of a thread that passes locks by: then they have to be left as in the
  // parent.
  static unsigned begin_attempt();
  static bool is_in_vain(unsigned attempt);
  static void end_attempt();  // in the parent, last
  // kBefore: takes the lock; false: it is not taken. kInParent: leaves it; true. kInChild: leaves it; false: what the lock
  // guards may be half changed, since the thread has held the lock before, or another one did.
  ACRE_COLD bool at_fork(ForkStage stage) ACRE_NO_THREAD_SAFETY_ANALYSIS;

  // Whether the calling thread is between begin_fork() and end_fork(). A signal handler may fork in that time.
  static bool this_thread_forks() { return forking_thread_.load(std::memory_order_relaxed) == this_thread(); }
  static void begin_fork();
  static void end_fork();
  static void end_fork_in_child();

 private:
  bool before_fork() ACRE_NO_THREAD_SAFETY_ANALYSIS;
  void after_fork_in_parent() ACRE_NO_THREAD_SAFETY_ANALYSIS;
  bool after_fork_in_child() ACRE_NO_THREAD_SAFETY_ANALYSIS;

  // The state: the holder's token, or none, and these; a token is a multiple of 16.
  static constexpr uint64_t kFree = 0;
  static constexpr uint64_t kWaitedFor = 1;
  static constexpr uint64_t kForFork = 2;      // taken by before_fork
  static constexpr uint64_t kKept = 4;         // held by the forking thread before
  static constexpr uint64_t kHalfChanged = 8;  // passed by at a fork; no holder: in the child, which cannot have it
  static constexpr uint64_t kFlags = 15;
  static ThreadToken holder_in(uint64_t state) { return state & ~kFlags; }

  ThreadToken holder() const { return holder_in(state_.load()); }
  // Whether the thread sleeps until this_thread() leaves a lock that it did not take for a fork. *anywhere: in a signal
  // handler that forks, so that the interrupted code may be anywhere; else where it takes a lock.
  static bool waits_for_this_thread(ThreadToken thread, bool* anywhere);
  static bool may_pass();
  static bool another_passes();
  bool pass_by(uint64_t state);
  void sleep_a_little(uint64_t state);
  void wait_while(uint64_t state, long most_ns) const;  // 0: without end

  ACRE_COLD void lock_slow();
  ACRE_COLD void unlock_while_forking();
  bool spin();
  void sleep();
  void leave() {
    if (ACRE_UNLIKELY((state_.exchange(kFree, std::memory_order_release) & kWaitedFor) != 0)) wake_one();
  }
  ACRE_COLD void wake_one() const;
  void check_order() const;
  void leave_order() const;

  static Mutex passing_;  // held by the thread that may pass locks by
  static inline constinit std::atomic<unsigned> passes_{0};
  static inline constinit std::atomic<ThreadToken> forking_thread_{kNoThread};

  std::atomic<uint64_t> state_{kFree};
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
