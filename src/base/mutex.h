// A lock on a futex, with a rank and counts of its use.
//
// Ranks order the locks: a thread takes only locks of a higher rank than those it holds (checked in debug builds). No
// lock is held over a system call (but see kSegment), so a holder is soon done, and a short spin mostly suffices.
//
// fork: the forking thread takes all locks (process/fork.cc). Between the prepare handler and the parent or child
// handler, handlers of other libraries may allocate. So lock and unlock then do nothing for that thread.
//
// fork in a signal handler: the interrupted code may hold locks, and the thread keeps them. Another thread may hold one
// lock and wait for one of those. The forking thread *passes by* the lock of such a holder: it forks without it. Only
// one thread at a time may pass by locks. Other threads that are about to fork then give up the locks they took for it,
// and begin anew after that fork. The data behind a lock passed by is consistent, since a thread waits for a second
// lock only while the first one's data is. The exception is a holder whose code was also interrupted by a handler that
// forks. Then the child cannot use the lock, and ends if it needs it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/atomics.h"
#include "base/compiler.h"
#include "base/thread_token.h"

namespace acre {

enum class Rank : uint8_t {
  kFork = 0,       // for the thread that forks
  kControl = 1,    // ctl's figures
  kSamples = 2,    // the heap profiler's tables
  kPython = 3,     // the heap profiler's Python functions
  kGuards = 4,     // slots of guarded blocks
  kRecord = 5,     // the recorder's lists of threads
  kRegistry = 6,   // the list of heaps, arenas of threads
  kManual = 7,     // the manual arenas, and their numbers
  kHeaps = 8,      // a manual arena's heaps
  kSampled = 9,    // runs of sampled blocks
  kBin = 10,
  kPages = 11,     // an arena's page runs
  kHuge = 12,
  kFile = 13,      // the parts of a file that are in use
  kSegment = 14,   // the end of the data segment; held over the system call
  kWindow = 15,    // the address window
  kUnits = 16,     // spare headers of slab runs
  kMetadata = 17,
  kLanes = 18,     // the recorder's lanes that begin
  // None of the locks below is held together with another lock.
  kLabels = 19,    // spare labels of runs
  kTags = 20,      // the list of tags
  kTrace = 21,     // lines of the trace
  kCallback = 22,  // the program's function for the soft limit
};
inline constexpr unsigned kRanks = static_cast<unsigned>(Rank::kCallback) + 1;

// The handlers of a fork run in these stages: before the fork in the forking thread, then in both processes.
enum class ForkStage : uint8_t { kBefore, kInParent, kInChild };

// How a lock was used so far. The holder writes all counts.
struct LockCounts {
  uint64_t acquisitions = 0;
  uint64_t waits = 0;         // waits in which the thread slept
  uint64_t spins = 0;         // waits that ended before the thread slept
  uint64_t wait_ns = 0;       // in both kinds of wait
  uint64_t longest_wait_ns = 0;
  uint64_t most_waiting = 0;  // threads at the same time

  // For locks that are one in statistics.
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

  // Takes no lock; the counts may be a moment old.
  LockCounts counts() const;
  unsigned waiting() const { return waiting_.load(std::memory_order_relaxed); }

  // fork calls at_fork() for every lock, in the order of ranks, then begin_fork(). In the parent it calls end_fork(), then
  // at_fork() for every lock. In the child it calls at_fork() for every lock, then end_fork_in_child(). A lock that the
  // thread held before remains its own. If is_in_vain(), because another thread passes by locks, the locks must be released
  // as in the parent, and a new attempt begins.
  static unsigned begin_attempt();
  static bool is_in_vain(unsigned attempt);
  static void end_attempt();  // in the parent, after all else
  // kBefore: takes the lock, and returns false if another thread keeps it. kInParent: releases it. kInChild: releases it,
  // and returns false if the data behind the lock may be half changed: interrupted code or another thread held it.
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

  // The state is the holder's token, or none, plus these flags. A token is a multiple of 8, and no more on musl, and
  // is below 2^63.
  static constexpr uint64_t kFree = 0;
  static constexpr uint64_t kWaitedFor = 1;
  static constexpr uint64_t kForFork = 2;      // taken by before_fork
  static constexpr uint64_t kKept = 4;         // the forking thread held it before
  // Passed by at a fork. No holder: the child cannot take it.
  static constexpr uint64_t kHalfChanged = uint64_t{1} << 63;
  static constexpr uint64_t kFlags = kWaitedFor | kForFork | kKept | kHalfChanged;
  static ThreadToken holder_in(uint64_t state) { return state & ~kFlags; }

  ThreadToken holder() const { return holder_in(state_.load()); }
  // Whether the thread waits, perhaps through others, for a lock of this thread that was not taken for a fork.
  // *anywhere: it waits in a signal handler that forks, so its interrupted code may have stopped anywhere.
  static bool waits_for_this_thread(ThreadToken thread, bool* anywhere);
  static bool may_pass();
  static bool another_passes();
  bool pass_by(uint64_t state);
  void sleep_a_little(uint64_t state);
  void wait_while(uint64_t state, long most_ns) const;  // 0: no limit

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

  // 52 bytes: with a [[no_unique_address]] lock, the rest of a cache line has room for what the lock guards.
  std::atomic<uint64_t> state_{kFree};
  uint64_t acquisitions_ = 0;
  uint64_t waits_ = 0;
  uint64_t spins_ = 0;
  uint64_t wait_ns_ = 0;
  uint64_t longest_wait_ns_ = 0;
  std::atomic<uint16_t> waiting_{0};
  uint16_t most_waiting_ = 0;
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
