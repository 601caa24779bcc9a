// When blocks were allocated and freed, by call site, and their sizes and lifetimes: from this a page can tell what a
// range of time left behind, and what was temporary in it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "plot_output.h"
#include "plot_sites.h"

namespace acre::trace {

class Ranges {
 public:
  static constexpr uint32_t kMostBuckets = 256;
  static constexpr uint32_t kBucketsLog2 = 8;
  static constexpr uint32_t kNever = UINT32_MAX;
  static constexpr std::array<uint64_t, 4> kWithin{1, 10, 100, 1000};

  struct Block {
    uint32_t site;
    uint64_t size;
    double weight;
    uint32_t from, to;  // in parts of 256 of the time; to: kNever
    double seconds;     // that it lived
    uint64_t events;    // of its thread, from the allocation to the free; 0: freed by another one, or not
  };

  // most_entries: with more of them, buckets are put together.
  explicit Ranges(size_t most_entries) : most_(most_entries) {}
  void add(const Block& block);
  void write(PlotLines& lines, const Sites& sites) const;
  uint32_t buckets() const { return kMostBuckets >> halved_; }

 private:
  static constexpr uint32_t kPeriods = 16, kSizes = 48, kLives = 28;
  struct Sum {
    double count = 0, bytes = 0;
    void add(double n, double all) {
      count += n;
      bytes += all;
    }
  };
  // Sums by site, 2 numbers of 16 bits.
  using Table = std::unordered_map<uint64_t, Sum>;
  static uint64_t key(uint32_t site, uint32_t a, uint32_t b) { return uint64_t{site} << 32 | a << 16 | b; }
  void halve();

  const size_t most_;
  unsigned halved_ = 0;  // how often buckets were put together, two by two
  Table ranges_;         // from, to
  Table temporary_;      // from, index in kWithin
  std::vector<uint32_t> sizes_ = std::vector<uint32_t>(kPeriods * kSizes * kLives);
};

}  // namespace acre::trace
