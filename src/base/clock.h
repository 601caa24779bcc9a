// The system's clocks. They are read by the function that the kernel maps into each process (the vDSO's), or by a system
// call, and never by the C library's clock_gettime: a preloaded library may have put its own in place of that, which may not
// be ready when the first block is allocated, or may stand still.
//
// All functions may be called by any thread at any time, and leave errno alone.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "base/compiler.h"

namespace acre {

// As clock_gettime, but for errno. Null: there is none, or nobody has looked yet (os::find_clock).
using ClockFunction = int (*)(clockid_t clock, struct timespec* time);
extern std::atomic<ClockFunction> g_clock_function ACRE_HIDDEN;

inline uint64_t nanoseconds_of(const struct timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

// By a system call. 0 if the system refuses to tell, as a sandbox may make it do.
uint64_t nanoseconds_by_system(clockid_t clock);

inline uint64_t nanoseconds_of(clockid_t clock) {
  const ClockFunction read = g_clock_function.load(std::memory_order_relaxed);
  struct timespec time;
  if (ACRE_UNLIKELY(read == nullptr || read(clock, &time) != 0)) return nanoseconds_by_system(clock);
  return nanoseconds_of(time);
}

}  // namespace acre
