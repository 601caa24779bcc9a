// All blocks that the program has, and what a check has found out about each: a byte a block, out of line.
//
// Filled while no other thread runs, from the page map. A thread may have stopped in the midst of anything, so nothing
// is taken for granted but the headers: a run whose header does not fit is passed over, and a small block is free if
// it carries its run's mark (slab/free_list.h) or lies beyond what was cut. A block that the program overwrote after it
// freed it counts as live.
#pragma once

#include <cstdint>

#include "leaks/room.h"
#include "pages/run.h"

namespace acre::leaks {

enum class State : uint8_t {
  kFree,
  kLive,       // not reached
  kReached,    // from a root, or ignored_leaks
  kHeld,       // leaked, and another leaked block points at it
  kCandidate,  // leaked, and perhaps what holds others
  kRoot,       // leaked: nothing points at it, or only what it holds itself
  kGrouped,    // leaked, and held by a root
};

struct Block {
  Address start;
  size_t bytes;
  size_t number;   // its place among the states
  Ticket ticket;
};

class Blocks {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  // False when memory is refused.
  bool fill(Room& room);

  // The number of the live block that has this address, its start or within; kNone: there is none.
  size_t find(Address a) const;
  Block at(size_t number) const;

  State state(size_t number) const { return states_[number]; }
  void set(size_t number, State state) { states_[number] = state; }

  // Numbers begin with 0. Those of free blocks are among them.
  size_t numbers() const { return numbers_; }
  size_t live_blocks() const { return live_blocks_; }
  size_t live_bytes() const { return live_bytes_; }

  // Visits all runs, free ones included: where no roots are.
  template <class Visit>
  void for_each_part(Visit&& visit) const {
    for (size_t i = 0; i < spans_; ++i) visit(span_[i].base, span_[i].end - span_[i].base);
  }

 private:
  struct Span {
    Address base;
    Address end;
    size_t first;       // the number of its first block
    size_t block_bytes;
    uint32_t blocks;    // that there are, free ones included
    const Run* run;
  };

  void add(const Run* run);
  void fill_states(const Span& span);
  const Span* span_of(Address a) const;

  Span* span_ = nullptr;
  size_t spans_ = 0;
  size_t most_spans_ = 0;
  State* states_ = nullptr;
  size_t numbers_ = 0;
  size_t live_blocks_ = 0;
  size_t live_bytes_ = 0;
};

}  // namespace acre::leaks
