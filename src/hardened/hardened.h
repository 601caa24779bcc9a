// The hardened mode: starting it, and its messages.
#pragma once

#include "cache/upcalls.h"
#include "os/os.h"

namespace acre::hardened {

// For the option hardened: called once, when the options have been read, before any thread has a heap.
void start(const os::Secrets& secrets);

// Random numbers that nobody can foresee who does not know the process's secrets. No two threads share a state.
class Random {
 public:
  // Below `bound`, at most 2^32.
  uint32_t below(uint32_t bound) {
    state_ = state_ * 6364136223846793005 + (address_of(this) | 1);  // Knuth, MMIX (TAOCP 3.3.4)
    return static_cast<uint32_t>(((state_ >> 32) * bound) >> 32);
  }
  void seed(uint64_t seed) { state_ = seed; }

 private:
  uint64_t state_ = 0;
};

uint64_t new_seed();

// The large block, freed and unreachable, whose pages have the address; or null. The answer may be a moment old.
const Run* retired_at(Address a);

}  // namespace acre::hardened
