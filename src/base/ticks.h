// A clock that one instruction reads where the processor has one: for the recorder's times. Its rate is the machine's.
#pragma once

#include "base/clock.h"

namespace acre {

#if defined(__x86_64__)
ACRE_ALWAYS_INLINE uint64_t read_ticks() { return __builtin_ia32_rdtsc(); }
#elif defined(__aarch64__)
ACRE_ALWAYS_INLINE uint64_t read_ticks() {
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}
#elif defined(__riscv)
ACRE_ALWAYS_INLINE uint64_t read_ticks() {
  uint64_t ticks;
  asm volatile("rdtime %0" : "=r"(ticks));
  return ticks;
}
#else
inline uint64_t read_ticks() { return nanoseconds_of(CLOCK_MONOTONIC); }
#endif

}  // namespace acre
