// Memory for a check, mapped piece by piece and given back as a whole. The check looks for no pointers in it.
#pragma once

#include "base/units.h"
#include "os/os.h"

namespace acre::leaks {

// Returns the last index below `count` for which is_below(index) is true, or 0. It must be true up to some index.
template <class IsBelow>
size_t last_below(size_t count, IsBelow is_below) {
  size_t low = 0;
  for (size_t high = count; high - low > 1;) {
    const size_t middle = (low + high) / 2;
    (is_below(middle) ? low : high) = middle;
  }
  return low;
}

class Room {
 public:
  Room() = default;
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  ~Room() {
    for (unsigned i = 0; i < count_; ++i) os::unmap(pointer_to(piece_[i].start), piece_[i].bytes);
  }

  // Returns zeroed memory for `count` elements, or null if memory is refused.
  template <class T>
  T* take(size_t count) {
    const size_t bytes = align_up(count * sizeof(T) + 1, os::page_bytes());
    void* memory = count_ < kMostPieces ? os::map(bytes) : nullptr;
    if (memory == nullptr) return nullptr;
    piece_[count_++] = {address_of(memory), bytes};
    return static_cast<T*>(memory);
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (unsigned i = 0; i < count_; ++i) visit(piece_[i].start, piece_[i].bytes);
  }

 private:
  static constexpr unsigned kMostPieces = 16;
  struct Piece {
    Address start;
    size_t bytes;
  };
  Piece piece_[kMostPieces];
  unsigned count_ = 0;
};

}  // namespace acre::leaks
