// What cache_scratch and cache_thrash have in common: a thread gets a few small objects for itself, writes
// them many times, and frees them, again and again. If another thread's objects lie in the same cache
// lines, each write takes the line away from that thread, and everything becomes several times slower.
#pragma once

#include <sched.h>

#include <array>
#include <latch>

#include "common.h"

namespace bench {

class FalseSharing {
 public:
  using Counter = volatile std::uint64_t;

  static constexpr std::size_t kHeld = 8;  // by a thread: one alone could have a line to itself by chance
  const unsigned threads;

  FalseSharing(const Arguments& arguments, unsigned long rounds)
      : threads(arguments.threads),
        rounds_(arguments.scaled(rounds)),
        writes_(kWrites / arguments.threads / kHeld),
        start_(static_cast<std::ptrdiff_t>(arguments.threads)) {}

  static Counter* make(std::uint64_t value) {
    auto* counter = static_cast<Counter*>(allocate(sizeof(Counter)));
    *counter = value;
    return counter;
  }

  // The value must be what its thread has left there.
  static std::uint64_t drop(Counter* counter, std::uint64_t expected) {
    if (*counter != expected) {
      std::fprintf(stderr, "a counter was changed by somebody else\n");
      std::abort();
    }
    release(const_cast<std::uint64_t*>(counter));
    return expected;
  }

  // All threads begin at the same time, each on a processor of its own while there are enough: two that
  // take turns on one processor do not disturb each other.
  void begin(unsigned number) {
    cpu_set_t allowed, own;
    sched_getaffinity(0, sizeof allowed, &allowed);
    unsigned left = number % static_cast<unsigned>(CPU_COUNT(&allowed));
    int processor = 0;
    while (!CPU_ISSET(processor, &allowed) || left-- != 0) ++processor;
    CPU_ZERO(&own);
    CPU_SET(processor, &own);
    sched_setaffinity(0, sizeof own, &own);
    start_.arrive_and_wait();
  }

  // A thread's life. -> its part of the checksum
  std::uint64_t live(unsigned number) const {
    Random random(number + 1);
    std::uint64_t sum = 0;
    for (unsigned long round = 0; round < rounds_; ++round) {
      std::array<Counter*, kHeld> counters;
      std::array<std::uint64_t, kHeld> begins;
      for (std::uint64_t& begin : begins) begin = random.next();
      for (std::size_t k = 0; k < kHeld; ++k) counters[k] = make(begins[k]);
      for (unsigned long i = 0; i < writes_; ++i) {
        for (Counter* counter : counters) *counter = *counter + 1;
      }
      for (std::size_t k = 0; k < kHeld; ++k) sum += drop(counters[k], begins[k] + writes_);
    }
    count_operations(rounds_ * kHeld);
    return sum;
  }

 private:
  static constexpr unsigned long kWrites = 1'000'000;  // a round, shared by the threads

  const unsigned long rounds_;
  const unsigned long writes_;  // of each counter, a round
  std::latch start_;
};

}  // namespace bench
