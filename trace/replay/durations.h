// Counts of durations in ticks: exact below 32, then 32 buckets a doubling (3 % wide).
#pragma once

#include <bit>
#include <cstdint>

namespace acre::trace::replay {

class Durations {
 public:
  void add(uint64_t duration) {
    ++counts_[bucket_of(duration)];
    if (duration > longest_) longest_ = duration;
  }

  void add(const Durations& other) {
    for (unsigned at = 0; at < kBuckets; ++at) counts_[at] += other.counts_[at];
    if (other.longest_ > longest_) longest_ = other.longest_;
  }

  uint64_t count() const {
    uint64_t all = 0;
    for (const uint64_t count : counts_) all += count;
    return all;
  }

  // The duration that so many of 10 000 do not exceed.
  uint64_t quantile(uint64_t of_10000) const {
    const uint64_t all = count();
    uint64_t seen = 0;
    for (unsigned at = 0; at < kBuckets; ++at) {
      seen += counts_[at];
      if (seen != 0 && seen * 10000 >= all * of_10000) return largest_in(at) < longest_ ? largest_in(at) : longest_;
    }
    return longest_;
  }

  uint64_t longest() const { return longest_; }

 private:
  static constexpr unsigned kBits = 5;
  static constexpr unsigned kLinear = 1u << kBits;
  static constexpr unsigned kBuckets = (64 - kBits + 1) * kLinear;

  static unsigned bucket_of(uint64_t duration) {
    if (duration < kLinear) return static_cast<unsigned>(duration);
    const unsigned shift = static_cast<unsigned>(std::bit_width(duration)) - kBits - 1;
    return (shift + 1) * kLinear + (static_cast<unsigned>(duration >> shift) & (kLinear - 1));
  }

  static uint64_t largest_in(unsigned bucket) {
    if (bucket < kLinear) return bucket;
    const unsigned shift = bucket / kLinear - 1;
    return (uint64_t{kLinear + bucket % kLinear + 1} << shift) - 1;
  }

  uint64_t counts_[kBuckets];
  uint64_t longest_;
};

}  // namespace acre::trace::replay
