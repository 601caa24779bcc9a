// What the unit tests share.
#pragma once

#include <cstdint>
#include <cstring>

#include "os/os.h"
#include "pages/metadata.h"
#include "pages/page_heap.h"
#include "pages/window.h"
#include "slab/arena.h"

namespace acre {
// In a testing::Test the plain name is GoogleTest's.
using PageRun = Run;

constexpr size_t kMiB = size_t{1} << 20;
}  // namespace acre

namespace acre::test {

// xorshift64*: the same numbers everywhere, for fixed seeds.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}

  uint64_t next() {
    if (from != nullptr) return from(state_);
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1d;
  }
  size_t below(size_t bound) { return static_cast<size_t>((next() >> 11) % bound); }
  size_t between(size_t least, size_t most) { return least + below(most - least + 1); }
  bool one_in(size_t n) { return below(n) == 0; }

  // Numbers from elsewhere in place of those that follow from the seed: ../libfuzzer/core.cc.
  static inline uint64_t (*from)(uint64_t& state) = nullptr;

 private:
  uint64_t state_;
};

// A page heap and an arena of the test's own, in memory that is never reused: the page map goes on naming their
// runs, and a second one at the same address would take these for its own.
inline PageHeap& new_page_heap() { return *new (metadata::allocate(sizeof(PageHeap))) PageHeap; }
inline Arena& new_arena() { return *new (metadata::allocate(sizeof(Arena))) Arena; }

// Whether the next chunk can come from the window. Not if it is full, or something lies in the way: all tests in
// one process leave much behind.
inline bool window_is_open() {
  constexpr size_t kProbe = 32 * kHugePageBytes;
  if (window::bytes() - window::used_bytes() < kProbe) return false;
  void* probe = os::map_at(window::start() + window::used_bytes(), kProbe);
  if (probe != nullptr) os::unmap(probe, kProbe);
  return probe != nullptr;
}

inline PageRun run_at(Address base, uint32_t pages) {
  PageRun run;
  run.base = base;
  run.pages = pages;
  return run;
}

inline bool all_zero(const void* start, size_t bytes) {
  const auto* first = static_cast<const unsigned char*>(start);
  return bytes == 0 || (*first == 0 && memcmp(first, first + 1, bytes - 1) == 0);
}

// The accounting identity of pages/page_heap.h, while no purge is under way.
inline bool pages_add_up(const PageCounts& counts) {
  return counts.obtained == counts.used + counts.dirty + counts.muzzy + counts.clean;
}

}  // namespace acre::test
