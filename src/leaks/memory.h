// The memory that is mapped, and the roots: where a check looks for pointers.
//
// Roots are all memory that the program can write to and that is not heap: variables of the program and its libraries;
// stacks from the stack pointer up, with the thread-local storage behind them; registers; and the program's own
// mappings. No roots are acre's own memory, stacks between their guard and the stack pointer, devices, pages that cannot
// be read, and what the program asked to leave out.
#pragma once

#include "leaks/blocks.h"
#include "leaks/room.h"
#include "os/stop.h"

namespace acre::leaks {

struct Range {
  Address start;
  Address end;
};

// A list of ranges, in memory of a fixed size. It is not whole if a range did not fit.
class Ranges {
 public:
  bool prepare(Room& room, size_t most) {
    most_ = most;
    range_ = room.take<Range>(most);
    return range_ != nullptr;
  }
  // Joins the range with the last one if it begins where that one ends.
  void add(Address start, Address end) {
    if (start >= end) return;
    if (count_ != 0 && range_[count_ - 1].end == start) {
      range_[count_ - 1].end = end;
    } else if (count_ == most_) {
      whole_ = false;
    } else {
      range_[count_++] = {start, end};
    }
  }
  void sort();
  bool is_whole() const { return whole_; }
  const Range* begin() const { return range_; }
  const Range* end() const { return range_ + count_; }
  size_t count() const { return count_; }

 private:
  Range* range_ = nullptr;
  size_t count_ = 0, most_ = 0;
  bool whole_ = true;
};

struct Memory {
  Ranges readable;
  Ranges roots;  // all of it can be read

  // Called while no other thread runs. Returns false if memory is refused or the mappings cannot be read.
  bool look(Room& room, const Blocks& blocks, const os::Threads& threads, const Range* left_out, size_t left_out_count);

  // Calls visit(start, end) for each part of a range that can be read.
  template <class Visit>
  void clip(Address start, Address end, Visit&& visit) const {
    const Range* range = readable.begin();
    size_t i = last_below(readable.count(), [&](size_t at) { return range[at].start <= start; });
    for (; i < readable.count() && range[i].start < end; ++i) {
      const Address from = larger(start, range[i].start), to = smaller(end, range[i].end);
      if (from < to) visit(from, to);
    }
  }
};

}  // namespace acre::leaks
