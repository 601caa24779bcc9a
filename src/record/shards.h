// Which lane has a shard of addresses (format.h).
#pragma once

#include <atomic>
#include <cstdint>

namespace acre::record {

// A word for each shard: the lane that touched it last, by its number plus 1, and how often it has changed lanes.
struct Shard {
  std::atomic<uint64_t> word{0};

  static constexpr unsigned kEpochShift = 32;
  uint32_t lane() const { return static_cast<uint32_t>(word.load(std::memory_order_relaxed)); }
  // Returns the new epoch.
  uint64_t take(uint32_t lane) {
    uint64_t before = word.load(std::memory_order_relaxed);
    uint64_t epoch;
    do {
      epoch = (before >> kEpochShift) + 1;
    } while (!word.compare_exchange_weak(before, epoch << kEpochShift | lane, std::memory_order_acq_rel));
    return epoch;
  }
};

}  // namespace acre::record
