// Addresses for blocks that another tool gave none: blocks of about the same size lie side by side, and what is freed
// last is given out next.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <vector>

namespace acre::trace {

class Placer {
 public:
  static constexpr uint64_t kMostSize = uint64_t{1} << 44;

  // 0: there is no more room.
  uint64_t place(uint64_t size) {
    const uint64_t room = room_of(size);
    Class& found = classes_[room];
    if (!found.free.empty()) {
      const uint64_t address = found.free.back();
      found.free.pop_back();
      return address;
    }
    if (found.left < room) {
      const uint64_t bytes = room > kRun / 4 ? (room + kPage - 1) & ~(kPage - 1) : kRun;
      if (size > kMostSize || kEnd - next_ < bytes) return 0;
      found.next = next_;
      found.left = bytes;
      next_ += bytes;
    }
    const uint64_t address = found.next;
    found.next += room;
    found.left -= room;
    return address;
  }

  void give_back(uint64_t address, uint64_t size) { classes_[room_of(size)].free.push_back(address); }

  // Multiples of 16, above 128 four or more to each doubling.
  static uint64_t room_of(uint64_t size) {
    if (size <= 16) return 16;
    if (size > kMostSize) return size;
    const uint64_t unit = size <= 128 ? 16 : uint64_t{1} << (61 - std::countl_zero(size - 1));
    return (size + unit - 1) & ~(unit - 1);
  }

 private:
  static constexpr uint64_t kRun = uint64_t{64} << 10, kPage = 4096, kEnd = uint64_t{1} << 47;

  struct Class {
    uint64_t next = 0, left = 0;
    std::vector<uint64_t> free;
  };
  std::map<uint64_t, Class> classes_;
  uint64_t next_ = uint64_t{1} << 32;
};

}  // namespace acre::trace
