// What threads know of memory: histories of atomic objects, views, and the clocks that find data races.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine.h"

namespace interleave {

inline constexpr unsigned kMostLocations = 160;
inline constexpr unsigned kThreads = kMostThreads + 1;  // the last one is the scenario's set-up and end
inline constexpr unsigned kMain = kMostThreads;

using Clock = uint16_t;

// What has happened before a point: of each thread so many steps, of each history so many stores.
struct View {
  Clock clock[kThreads] = {};
  uint16_t seen[kMostLocations] = {};

  void join(const View& other, unsigned locations) {
    for (unsigned t = 0; t < kThreads; ++t) clock[t] = clock[t] < other.clock[t] ? other.clock[t] : clock[t];
    for (unsigned i = 0; i < locations; ++i) seen[i] = seen[i] < other.seen[i] ? other.seen[i] : seen[i];
  }
};

struct Store {
  uint64_t value;
  unsigned thread;
  View view;  // what an acquiring reader learns
};

struct Location {
  size_t offset = 0;
  unsigned bytes = 0;
  std::vector<Store> stores;  // oldest first
};

// How a byte was accessed last, by each thread: the thread's clock then, 0 for never.
struct Byte {
  Clock plain_read[kThreads] = {};
  Clock plain_write[kThreads] = {};
  Clock atomic_read[kThreads] = {};
  Clock atomic_write[kThreads] = {};
  uint16_t location = 0;  // its number plus 1, at the first byte of an atomic object
  bool written_plainly = false;  // since the last atomic access of the object that begins here
};

}  // namespace interleave
