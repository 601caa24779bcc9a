// Work shared by threads.
#pragma once

namespace bench {

// What falls to one of count threads when the work is shared as evenly as can be: [first, last).
struct Share {
  unsigned long first;
  unsigned long last;

  Share(unsigned long work, unsigned number, unsigned count)
      : first(work * number / count), last(work * (number + 1) / count) {}

  unsigned long size() const { return last - first; }
};

}  // namespace bench
