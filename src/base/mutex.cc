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

#if ACRE_DEBUG
// How many locks of each rank this thread holds. Debug builds only, so the release library's TLS stays small.
thread_local uint8_t held[kRanks];
#endif

}  // namespace

bool Mutex::spin() {
  for (int i = 0; i < kSpins; ++i) {
    uint32_t expected = kFree;
    if (state_.load(std::memory_order_relaxed) == kFree &&
        state_.compare_exchange_weak(expected, kHeld, std::memory_order_acquire)) {
      return true;
    }
    pause_processor();
  }
  return false;
}

// The three-state futex lock of U. Drepper, "Futexes are tricky" (2011).
void Mutex::sleep() {
  while (state_.exchange(kWaitedFor, std::memory_order_acquire) != kFree) {
    raw_syscall(SYS_futex, reinterpret_cast<long>(&state_), FUTEX_WAIT_PRIVATE, kWaitedFor, 0);
  }
}

// What is counted behind the wait is written by the lock's holder.
void Mutex::lock_slow() {
  if (this_thread_forks()) return;
  const uint64_t start = nanoseconds_of(CLOCK_MONOTONIC);
  const uint16_t waiting = static_cast<uint16_t>(waiting_.fetch_add(1, std::memory_order_relaxed) + 1);
  const bool soon = spin();
  if (!soon) sleep();
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  relaxed_add(soon ? spins_ : waits_, uint64_t{1});
  const uint64_t end = nanoseconds_of(CLOCK_MONOTONIC);
  const uint64_t time = end - smaller(start, end);  // 0 if the system no longer tells
  relaxed_add(wait_ns_, time);
  if (time > longest_wait_ns_) relaxed_store(longest_wait_ns_, time);
  if (waiting > most_waiting_) relaxed_store(most_waiting_, waiting);
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

void Mutex::wake_one() { raw_syscall(SYS_futex, reinterpret_cast<long>(&state_), FUTEX_WAKE_PRIVATE, 1); }

#if ACRE_DEBUG
void Mutex::check_order() const {
  if (this_thread_forks()) return;
  unsigned rank = static_cast<unsigned>(rank_);
  for (unsigned higher = rank; higher < sizeof held; ++higher) ACRE_ASSERT(held[higher] == 0);
  ++held[rank];
}
void Mutex::leave_order() const { --held[static_cast<unsigned>(rank_)]; }
#else
void Mutex::check_order() const {}
void Mutex::leave_order() const {}
#endif

}  // namespace acre
