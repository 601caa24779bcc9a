#include "base/mutex.h"

#include <linux/futex.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/fatal.h"
#include "base/syscall.h"

namespace acre {

namespace {

constexpr int kSpins = 64;

inline void pause_processor() {
#if defined(__x86_64__)
  asm volatile("pause");
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

// Who sleeps, and for which lock: a fork from a signal handler looks here. Who finds no place sleeps without; then such
// a fork may wait for it until a place is free.
struct Sleeper {
  std::atomic<ThreadToken> thread{kNoThread};
  std::atomic<const Mutex*> lock{nullptr};
  std::atomic<bool> forks{false};
};
constexpr unsigned kMostSleepers = 256;
constinit Sleeper g_sleepers[kMostSleepers];

class Asleep {
 public:
  Asleep(const Mutex* lock, bool forks) {
    for (Sleeper& sleeper : g_sleepers) {
      ThreadToken nobody = kNoThread;
      if (sleeper.thread.load(std::memory_order_relaxed) != kNoThread) continue;
      if (!sleeper.thread.compare_exchange_strong(nobody, this_thread())) continue;
      sleeper.forks.store(forks);
      sleeper.lock.store(lock);
      sleeper_ = &sleeper;
      return;
    }
  }
  ~Asleep() {
    if (sleeper_ == nullptr) return;
    sleeper_->lock.store(nullptr);
    sleeper_->thread.store(kNoThread);
  }
  Asleep(const Asleep&) = delete;
  Asleep& operator=(const Asleep&) = delete;

 private:
  Sleeper* sleeper_ = nullptr;
};

// What a thread sleeps for: for two locks, where a signal has interrupted its sleep and the handler forks.
struct Awaited {
  const Mutex* by_fork = nullptr;
  const Mutex* otherwise = nullptr;
  const Mutex* now() const { return by_fork != nullptr ? by_fork : otherwise; }
};
Awaited awaited_by(ThreadToken thread) {
  Awaited awaited;
  for (const Sleeper& sleeper : g_sleepers) {
    if (sleeper.thread.load() != thread) continue;
    const bool forks = sleeper.forks.load();
    if (const Mutex* lock = sleeper.lock.load()) (forks ? awaited.by_fork : awaited.otherwise) = lock;
  }
  return awaited;
}

constinit unsigned g_nested_forks = 0;  // of the forking thread: in its signal handlers

#if ACRE_DEBUG
// How many locks of each rank this thread holds. Debug builds only, so the release library's TLS stays small.
thread_local uint8_t held[kRanks];

// A handler for SIGABRT takes locks, too.
bool is_any_order_right() { return Mutex::this_thread_forks() || is_ending(); }
#endif

}  // namespace

bool Mutex::spin() {
  for (int i = 0; i < kSpins; ++i) {
    uint64_t expected = kFree;
    if (state_.load(std::memory_order_relaxed) == kFree &&
        state_.compare_exchange_weak(expected, this_thread(), std::memory_order_acquire)) {
      return true;
    }
    pause_processor();
  }
  return false;
}

// The futex is the state's lower half, which all flags are in. Another holder of the same lower half is waited for as
// well.
void Mutex::wait_while(uint64_t state, long most_ns) const {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  const struct timespec most = {0, most_ns};
  raw_syscall(SYS_futex, reinterpret_cast<long>(&state_), FUTEX_WAIT_PRIVATE, static_cast<long>(state & UINT32_MAX),
              most_ns == 0 ? 0 : reinterpret_cast<long>(&most));
}

// After the three-state futex lock of U. Drepper, "Futexes are tricky" (2011).
void Mutex::sleep() {
  const Asleep asleep(this, false);
  uint64_t state = state_.load(std::memory_order_relaxed);
  for (;;) {
    if (state == kHalfChanged) fatal_at_once("malloc or free in the child of a fork in a signal handler");
    if (holder_in(state) == kNoThread) {
      if (state_.compare_exchange_weak(state, this_thread() | kWaitedFor, std::memory_order_acquire)) return;
    } else if ((state & kWaitedFor) != 0 || state_.compare_exchange_weak(state, state | kWaitedFor)) {
      wait_while(state | kWaitedFor, 0);
      state = state_.load(std::memory_order_relaxed);
    }
  }
}

// What is counted behind the wait is written by the lock's holder.
void Mutex::lock_slow() {
  if (this_thread_forks()) return;
  if (holder() == this_thread()) fatal_at_once("malloc or free in a signal handler that interrupted malloc or free");
  const uint64_t start = nanoseconds_of(CLOCK_MONOTONIC);
  const uint16_t waiting = static_cast<uint16_t>(waiting_.fetch_add(1, std::memory_order_relaxed) + 1);
  const bool soon = spin();
  if (!soon) sleep();
  if (waiting_.load(std::memory_order_relaxed) != 0) waiting_.fetch_sub(1, std::memory_order_relaxed);  // 0: in a child
  relaxed_add(soon ? spins_ : waits_, uint64_t{1});
  const uint64_t end = nanoseconds_of(CLOCK_MONOTONIC);
  const uint64_t time = end - smaller(start, end);  // 0 if the system no longer tells
  relaxed_add(wait_ns_, time);
  if (time > longest_wait_ns_) relaxed_store(longest_wait_ns_, time);
  if (waiting > most_waiting_) relaxed_store(most_waiting_, waiting);
}

void Mutex::wake_one() const { raw_syscall(SYS_futex, reinterpret_cast<long>(&state_), FUTEX_WAKE_PRIVATE, 1); }

void Mutex::leave() {
  if ((state_.exchange(kFree, std::memory_order_release) & kWaitedFor) != 0) wake_one();
}

void Mutex::unlock_slow() {
  if (!this_thread_forks()) leave();
}

LockCounts Mutex::counts() const {
  return {racy_load(acquisitions_), racy_load(waits_),           racy_load(spins_),
          racy_load(wait_ns_),      racy_load(longest_wait_ns_), racy_load(most_waiting_)};
}

// --- Fork -------------------------------------------------------------------------------------------------------

constinit Mutex Mutex::passing_{Rank::kFork};

// As long as the calling thread holds the last lock of the chain, what waits for that lock goes on waiting; what waits
// for the others was looked at too early, perhaps, the first time.
bool Mutex::waits_for_this_thread(ThreadToken thread, bool* anywhere) {
  bool found = false;
  for (int look = 0; look < 2; ++look) {
    found = false;
    ThreadToken at = thread;
    for (unsigned i = 0; i < kRanks && !found; ++i) {
      const Awaited awaited = awaited_by(at);
      if (awaited.now() == nullptr) break;
      if (at == thread) *anywhere = awaited.otherwise == nullptr;
      const uint64_t state = awaited.now()->state_.load();
      at = holder_in(state);
      if (at == kNoThread) awaited.now()->wake_one();  // whoever was woken may be in a signal handler
      found = at == this_thread() && (state & kForFork) == 0;
    }
    if (!found) return false;
  }
  return true;
}

bool Mutex::another_passes() {
  const ThreadToken thread = passing_.holder();
  return thread != kNoThread && thread != this_thread();
}

// The count changes first: whoever fails because of this thread sees that.
bool Mutex::may_pass() {
  if (passing_.holder() == this_thread()) return true;
  passes_.fetch_add(1);
  uint64_t expected = kFree;
  return passing_.state_.compare_exchange_strong(expected, this_thread());
}

// Whether the lock's holder cannot go on before this thread does. One that has taken it for a fork begins anew.
bool Mutex::pass_by(uint64_t state) {
  bool anywhere = false;
  if (!waits_for_this_thread(holder_in(state), &anywhere) || !may_pass() || (state & kForFork) != 0) return false;
  if (anywhere) state_.fetch_or(kHalfChanged, std::memory_order_relaxed);
  return true;
}

void Mutex::sleep_a_little(uint64_t state) {
  const Asleep asleep(this, true);
  if ((state & kWaitedFor) == 0 && !state_.compare_exchange_strong(state, state | kWaitedFor)) return;
  wait_while(state | kWaitedFor, 1'000'000);
}

unsigned Mutex::begin_attempt() {
  for (;;) {
    const unsigned attempt = passes_.load();
    if (!another_passes()) return attempt;
    const uint64_t state = passing_.state_.load();
    if (holder_in(state) != kNoThread) passing_.sleep_a_little(state);
  }
}

bool Mutex::is_in_vain(unsigned attempt) { return passes_.load() != attempt; }

void Mutex::end_attempt() {
  if (passing_.holder() == this_thread()) passing_.leave();
}

// Who has slept may have been woken in place of another.
bool Mutex::before_fork() {
  uint64_t waited = 0;
  for (int tries = 0;; ++tries) {
    uint64_t state = kFree;
    const uint64_t mine = this_thread() | kForFork | waited;
    if (state_.compare_exchange_strong(state, mine, std::memory_order_acquire)) return true;
    if (holder_in(state) == this_thread()) {
      state_.fetch_or(kKept, std::memory_order_relaxed);
      return false;
    }
    if (holder_in(state) == kNoThread || another_passes() || pass_by(state)) {
      if (waited != 0) wake_one();
      return false;
    }
    if (tries < kSpins) {
      pause_processor();
    } else {
      sleep_a_little(state);
      waited = kWaitedFor;
    }
  }
}

void Mutex::after_fork_in_parent() {
  const uint64_t state = state_.load(std::memory_order_relaxed);
  if (holder_in(state) == this_thread()) {
    if ((state & kKept) != 0 && !this_thread_ends()) {
      state_.fetch_and(~kKept, std::memory_order_relaxed);
    } else if ((state & kForFork) != 0 || this_thread_ends()) {
      leave();
    }
  } else if ((state & kHalfChanged) != 0 && holder_in(state) != kNoThread) {
    state_.fetch_and(~kHalfChanged, std::memory_order_relaxed);
  }
}

bool Mutex::after_fork_in_child() {
  const uint64_t state = state_.load(std::memory_order_relaxed);
  waiting_.store(0, std::memory_order_relaxed);
  if (holder_in(state) == this_thread() && (state & kKept) != 0) {
    state_.store(state & ~(kKept | kWaitedFor), std::memory_order_relaxed);
    return false;
  }
  const bool is_whole = (state & kHalfChanged) == 0;
  state_.store(is_whole ? kFree : kHalfChanged, std::memory_order_relaxed);
  return is_whole;
}

void Mutex::begin_fork() {
  if (this_thread_forks()) {
    ++g_nested_forks;
  } else {
    forking_thread_.store(this_thread(), std::memory_order_relaxed);
  }
}

void Mutex::end_fork() {
  if (g_nested_forks != 0) {
    --g_nested_forks;
    return;
  }
  forking_thread_.store(kNoThread, std::memory_order_relaxed);
}

void Mutex::end_fork_in_child() {
  for (Sleeper& sleeper : g_sleepers) {
    if (sleeper.thread.load(std::memory_order_relaxed) != this_thread()) sleeper.thread.store(kNoThread);
  }
  passing_.state_.store(kFree);
  forget_other_end();
  end_fork();
}

#if ACRE_DEBUG
void Mutex::check_order() const {
  if (is_any_order_right()) return;
  unsigned rank = static_cast<unsigned>(rank_);
  for (unsigned higher = rank; higher < sizeof held; ++higher) ACRE_ASSERT(held[higher] == 0);
  ++held[rank];
}
void Mutex::leave_order() const {
  if (!is_any_order_right()) --held[static_cast<unsigned>(rank_)];
}
#else
void Mutex::check_order() const {}
void Mutex::leave_order() const {}
#endif

}  // namespace acre
