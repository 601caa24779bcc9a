#include "base/mutex.h"

#include <linux/futex.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/fatal.h"
#include "base/pause.h"
#include "base/sleepers.h"
#include "base/syscall.h"

namespace acre {

namespace {

#if ACRE_DEBUG
// How many locks of each rank this thread holds.
thread_local uint8_t held[kRanks];

// Locks are taken in any order at a fork, and by a handler for SIGABRT.
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

// The futex is the lower half of the state, with all flags but kHalfChanged, which no sleeper waits for. A wait goes on
// if a new holder has the same lower half.
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

// After the wait this thread is the holder, so it may write the counts.
void Mutex::lock_slow() {
  if (this_thread_forks()) return;
  if (holder() == this_thread()) fatal_at_once("malloc or free in a signal handler that interrupted malloc or free");
  const uint64_t start = nanoseconds_of(CLOCK_MONOTONIC);
  const uint16_t waiting = static_cast<uint16_t>(waiting_.fetch_add(1, std::memory_order_relaxed) + 1);
  const bool soon = spin();
  if (!soon) sleep();
  if (waiting_.load(std::memory_order_relaxed) != 0) waiting_.fetch_sub(1, std::memory_order_relaxed);  // 0 in a child
  relaxed_add(soon ? spins_ : waits_, uint64_t{1});
  const uint64_t end = nanoseconds_of(CLOCK_MONOTONIC);
  const uint64_t time = end - smaller(start, end);  // 0 if the clock fails
  relaxed_add(wait_ns_, time);
  if (time > longest_wait_ns_) relaxed_store(longest_wait_ns_, time);
  if (waiting > most_waiting_) relaxed_store(most_waiting_, waiting);
}

void Mutex::wake_one() const { raw_syscall(SYS_futex, reinterpret_cast<long>(&state_), FUTEX_WAKE_PRIVATE, 1); }

// Some thread forks. If it is this one, only a lock that was made after before_fork() is released.
void Mutex::unlock_while_forking() {
  const uint64_t state = state_.load(std::memory_order_relaxed);
  const bool is_held_over = holder_in(state) != this_thread() || (state & (kForFork | kKept)) != 0;
  if (!this_thread_forks() || !is_held_over) leave();
}

LockCounts Mutex::counts() const {
  return {racy_load(acquisitions_), racy_load(waits_),           racy_load(spins_),
          racy_load(wait_ns_),      racy_load(longest_wait_ns_), racy_load(most_waiting_)};
}

ACRE_COLD void LockCounts::add(const LockCounts& other) {
  acquisitions += other.acquisitions;
  waits += other.waits;
  spins += other.spins;
  wait_ns += other.wait_ns;
  if (other.longest_wait_ns > longest_wait_ns) longest_wait_ns = other.longest_wait_ns;
  if (other.most_waiting > most_waiting) most_waiting = other.most_waiting;
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
