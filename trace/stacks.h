// Call stacks by their numbers, as events and the chunks kStacks name them.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "order.h"

namespace acre::trace {

// How many blocks of this size one stands for whose stack was taken, if stacks are taken once in `every` bytes.
double blocks_of_a_sample(uint64_t size, uint32_t every);

class Stacks {
 public:
  using Frames = std::vector<uint64_t>;  // return addresses, innermost first

  // Reads the chunks kStacks. order: of the same file, and outlives this.
  Stacks(Reader& reader, const Order& order);

  // For each event, of whichever kind.
  void on(const Merged& merged) {
    if (merged.event->what == What::kStackIs) of_[merged.process][merged.event->numbers[0]] = merged.event->list;
  }

  // Empty: nothing names it. A forked child has its parent's. Holds until on() replaces it.
  const Frames& frames(uint32_t process, uint64_t number) const;

 private:
  const Order& order_;
  std::unordered_map<uint32_t, std::unordered_map<uint64_t, Frames>> of_;
};

}  // namespace acre::trace
