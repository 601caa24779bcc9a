// Clocks, read by the function that the kernel maps into each process (the vDSO's) or by a system call. The C library's
// clock_gettime is never used: a preloaded library may have replaced it by one that is not ready at the first
// allocation, or that stands still.
// Any thread may call these functions at any time. They keep errno.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "base/compiler.h"

namespace acre {

// Like clock_gettime, but keeps errno. Null: os::find_clock() has found none or has not run yet.
using ClockFunction = int (*)(clockid_t clock, struct timespec* time);
extern std::atomic<ClockFunction> g_clock_function ACRE_HIDDEN;

inline uint64_t nanoseconds_of(const struct timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

// By a system call. Returns 0 if the system refuses, as in some sandboxes.
uint64_t nanoseconds_by_system(clockid_t clock);

inline uint64_t nanoseconds_of(clockid_t clock) {
  const ClockFunction read = g_clock_function.load(std::memory_order_relaxed);
  struct timespec time;
  if (ACRE_UNLIKELY(read == nullptr || read(clock, &time) != 0)) return nanoseconds_by_system(clock);
  return nanoseconds_of(time);
}

}  // namespace acre
