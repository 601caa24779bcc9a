#include "base/clock.h"

#include "base/syscall.h"

namespace acre {

constinit std::atomic<ClockFunction> g_clock_function{nullptr};

ACRE_COLD uint64_t nanoseconds_by_system(clockid_t clock) {
  struct timespec time;
  const long result = raw_syscall(SYS_clock_gettime, clock, reinterpret_cast<long>(&time));
  return result == 0 ? nanoseconds_of(time) : 0;
}

}  // namespace acre
