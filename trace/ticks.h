// The clock of recorded events: the processor's counter, which all processors share.
#pragma once

#include <time.h>

#include <cstdint>

namespace acre::trace {

inline uint64_t nanoseconds_of(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

inline uint64_t ticks_now() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return nanoseconds_of(CLOCK_MONOTONIC);
#endif
}

}  // namespace acre::trace
