#include "base/mutex.h"

#include <linux/futex.h>

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
thread_local uint8_t held[16];
#endif

}  // namespace

// The three-state futex lock of U. Drepper, "Futexes are tricky" (2011), after a short spin.
void Mutex::lock_slow() {
  if (this_thread_forks()) return;
  contentions_.fetch_add(1, std::memory_order_relaxed);
  for (int i = 0; i < kSpins; ++i) {
    uint32_t expected = kFree;
    if (state_.load(std::memory_order_relaxed) == kFree &&
        state_.compare_exchange_weak(expected, kHeld, std::memory_order_acquire)) {
      return;
    }
    pause_processor();
  }
  while (state_.exchange(kWaitedFor, std::memory_order_acquire) != kFree) {
    raw_syscall(SYS_futex, reinterpret_cast<long>(&state_), FUTEX_WAIT_PRIVATE, kWaitedFor, 0);
  }
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
