// What a fork does with a lock.
#include "base/fatal.h"
#include "base/mutex.h"
#include "base/pause.h"
#include "base/sleepers.h"

namespace acre {

static constinit unsigned g_nested_forks = 0;  // in signal handlers of the forking thread

constinit Mutex Mutex::passing_{Rank::kFork};

// Follows the chain of locks and their holders twice. While the calling thread holds the last lock, the thread before
// it stays in the chain; but the first pass may have read other links too early.
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
      if (at == kNoThread) awaited.now()->wake_one();  // the thread that was woken may be in a signal handler
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

// passes_ changes first, so that any attempt that fails because of this thread sees the change.
bool Mutex::may_pass() {
  if (passing_.holder() == this_thread()) return true;
  passes_.fetch_add(1);
  uint64_t expected = kFree;
  return passing_.state_.compare_exchange_strong(expected, this_thread());
}

// Whether to fork without this lock, as its holder waits for this thread. A holder that took it for a fork gives it up.
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

// If this thread slept, it may have been woken in place of another. So it keeps kWaitedFor set, or wakes the next.
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

bool Mutex::at_fork(ForkStage stage) {
  if (stage == ForkStage::kBefore) return before_fork();
  if (stage == ForkStage::kInChild) return after_fork_in_child();
  after_fork_in_parent();
  return true;
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
  forget_other_sleepers();
  passing_.state_.store(kFree);
  forget_other_end();
  end_fork();
}

}  // namespace acre
