// The cells of an image, column by column as time goes: what share of each is in use, and by which group of sizes and
// which thread for the most part. Sums of bytes × time are whole numbers; nothing is sampled. Memory is a column's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "plot.h"

namespace acre::trace {

struct Cell {
  uint16_t share = 0;  // of 65535; 0: nothing was ever there
  uint16_t birth = 0;  // mean, in parts of 65536 of the span
  uint8_t group = 0;
  uint8_t thread = 0;
};

class Sweep {
 public:
  static constexpr unsigned kQuantaLog2 = 16;  // of time, a column
  static constexpr uint64_t kQuanta = uint64_t{1} << kQuantaLog2;

  struct Block {
    uint64_t y, bytes;  // in the image
    unsigned group;
    uint32_t thread;
    uint64_t birth;  // in quanta
  };

  // 2^columns_log2 columns of `rows` cells that are `height` bytes tall; threads: kDrawnThreads or fewer have numbers.
  Sweep(unsigned columns_log2, uint32_t rows, uint64_t height, uint32_t threads,
        std::function<void(const Cell*)> column);

  // At times in quanta, none before the last one.
  void begin(uint64_t when, const Block& block) { change(when, block, 1); }
  void end(uint64_t when, const Block& block) { change(when, block, UINT64_MAX); }
  void finish();

 private:
  // Bytes × quanta in this column if all stays as it is, and what a quantum adds. The same for the births' sums.
  // Modulo 2^64: in a file that is wrong, blocks may lie over each other.
  struct Sum {
    uint64_t area = 0, rate = 0;
    void add(uint64_t bytes, uint64_t left) {
      area += bytes * left;
      rate += bytes;
    }
    void next_column() { area = rate * kQuanta; }
  };
  struct Wide {
    Sum sum, births;
  };

  // sign: 1, or -1 modulo 2^64.
  void change(uint64_t when, const Block& block, uint64_t sign);
  void add(uint32_t row, uint64_t bytes, const Block& block, uint64_t sign);
  void add_wide(uint32_t row, const Block& block, uint64_t sign);
  void flush();
  void fill_wide();
  // Of a row's sums, and those of a wide block above it.
  Cell cell_of(const Sum* row, const Sum* wide) const;
  Sum* row_of(uint32_t row) { return sums_.data() + row * stride_; }

  const unsigned columns_log2_;
  const uint32_t rows_;
  const uint64_t height_;
  const unsigned scale_;     // bytes are counted in units of 2^scale_, so that sums fit
  const uint32_t channels_;  // threads, and one for all others
  const size_t stride_;      // sums of a row: all, births, by group, by thread
  const std::function<void(const Cell*)> column_;
  uint64_t done_ = 0;  // columns
  uint64_t left_ = kQuanta;
  std::vector<Sum> sums_;
  std::vector<Cell> steady_;  // cells where nothing changes, without wide blocks
  std::vector<Cell> cells_;
  std::vector<uint32_t> changed_;
  std::vector<uint8_t> is_changed_, is_covered_;
  // A block that covers many rows: where it begins to cover whole ones, and where that ends, by row, group and thread.
  std::map<uint64_t, Wide> wide_;
};

}  // namespace acre::trace
