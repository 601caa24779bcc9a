// The addresses that an image has: units of 64 KiB in which a block ever was, without what lies between them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace acre::trace {

class Axis {
 public:
  static constexpr uint64_t kUnit = 64 << 10;
  struct Range {
    uint64_t start, units;
    uint64_t y;  // bytes of the ranges below
  };

  // Before finish().
  void add(uint64_t address, uint64_t bytes);
  void finish();

  // Where a block lies, in bytes from the axis's beginning. False: not on the axis.
  bool find(uint64_t address, uint64_t& y) const;
  const std::vector<Range>& ranges() const { return ranges_; }
  uint64_t height() const { return ranges_.empty() ? 0 : ranges_.back().y + ranges_.back().units * kUnit; }

 private:
  struct Units {
    uint64_t first, last;
    auto operator<=>(const Units&) const = default;
  };
  void merge();

  std::vector<Units> added_;
  size_t merged_ = 0;                     // entries of added_ that were left by merge()
  std::array<uint64_t, 4096> recent_{};   // units + 1 that were added
  std::vector<Range> ranges_;
  mutable size_t last_ = 0;  // range that was found last
};

}  // namespace acre::trace
