// A cache of rows of unwinding tables, by address of code. To work out a row takes some hundred instructions and a
// dozen reads that miss the processor's caches.
#pragma once

#include <stddef.h>

#include <atomic>

#include "base/hash.h"
#include "base/units.h"
#include "sample/frame_rows.h"

namespace acre::frame_rows {

// Threads read and write without a lock. The sum shows whether a pair was written by two threads at once.
class KnownRows {
 public:
  // tables: the number of the row's tables. After dlclose another library may lie at the same addresses.
  bool find(Address code, uint64_t tables, Row* row) const {
    const uint64_t key = key_of(code, tables);
    const Pair& pair = pairs_[key >> (kBitsOfWord - kBits)];
    const uint64_t packed = pair.packed.load(std::memory_order_relaxed);
    if ((pair.sum.load(std::memory_order_relaxed) ^ packed) != key || packed == 0) return false;
    *row = unpack(packed);
    return true;
  }
  void keep(Address code, uint64_t tables, const Row& row) {
    const uint64_t packed = pack(row);
    if (packed == 0) return;
    const uint64_t key = key_of(code, tables);
    Pair& pair = pairs_[key >> (kBitsOfWord - kBits)];
    pair.packed.store(packed, std::memory_order_relaxed);
    pair.sum.store(packed ^ key, std::memory_order_relaxed);
  }

 private:
  static constexpr unsigned kBits = 11;
  static constexpr unsigned kBitsOfWord = 64;
  struct Pair {
    std::atomic<uint64_t> packed, sum;
  };

  static uint64_t key_of(Address code, uint64_t tables) { return (code ^ tables) * kHashFactor; }

  // Offsets are packed in words, and one more bit is always set. 0: an offset does not fit, which is rare.
  static constexpr unsigned kBitsOfEnd = 26, kBitsOfPlace = 17;
  template <unsigned kWidth>
  static bool put(int64_t bytes, uint64_t* packed) {
    constexpr int64_t kWord = sizeof(Address), kLimit = int64_t{1} << (kWidth - 1);
    const int64_t words = bytes / kWord;
    *packed = *packed << kWidth | (static_cast<uint64_t>(words) & ((uint64_t{1} << kWidth) - 1));
    return words * kWord == bytes && words < kLimit && words >= -kLimit;
  }
  template <unsigned kWidth>
  static int64_t take(uint64_t* packed) {
    const auto words = static_cast<int64_t>(*packed << (kBitsOfWord - kWidth)) >> (kBitsOfWord - kWidth);
    *packed >>= kWidth;
    return words * static_cast<int64_t>(sizeof(Address));
  }
  static uint64_t pack(const Row& row) {
    uint64_t packed = 0b1000u | row.is_outermost << 2 | row.is_by_frame_pointer << 1 | row.saves_frame_pointer;
    const bool fits = put<kBitsOfEnd>(row.end, &packed) && put<kBitsOfPlace>(row.return_address, &packed) &&
                      put<kBitsOfPlace>(row.frame_pointer, &packed);
    return fits ? packed : 0;
  }
  static Row unpack(uint64_t packed) {
    Row row;
    row.frame_pointer = take<kBitsOfPlace>(&packed);
    row.return_address = take<kBitsOfPlace>(&packed);
    row.end = take<kBitsOfEnd>(&packed);
    row.saves_frame_pointer = packed & 1;
    row.is_by_frame_pointer = packed >> 1 & 1;
    row.is_outermost = packed >> 2 & 1;
    return row;
  }

  Pair pairs_[size_t{1} << kBits] = {};
};

}  // namespace acre::frame_rows
