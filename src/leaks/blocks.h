// All blocks of the program, and a state for each: a byte a block, stored outside the blocks.
//
// Filled from the page map while no other thread runs. A thread may have stopped in the middle of any operation, so
// only headers are trusted: a run whose header does not fit is passed over, and a small block is free if it
// carries the mark and such a link as free blocks of its class have (seems_free), or was never cut. A freed block that the program overwrote counts as live.
#pragma once

#include <cstdint>

#include "leaks/room.h"
#include "pages/run.h"

namespace acre::leaks {

enum class State : uint8_t {
  kFree,
  kLive,        // live, and not reached
  kReached,     // by a block that is reached
  kDoubtful,    // reached, if at all, by leftovers (Graph::count_doubtful)
  kRooted,      // by a root, ignored, or reached by a pointer that is no leftover
  kHeld,        // leaked, and another leaked block points at it
  kCandidate,   // leaked, and may become a root
  kRoot,        // leaked: no leaked block points at it, or only blocks that it holds
  kGrouped,     // leaked, and held by a root
};

struct Block {
  Address start;
  size_t bytes;
  size_t number;   // its index among the states
  Ticket ticket;
};

class Blocks {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  // Returns false if memory is refused.
  bool fill(Room& room);

  // Returns the number of the live block in which this address lies, or kNone.
  size_t find(Address a) const;
  Block at(size_t number) const;

  State state(size_t number) const { return states_[number]; }
  void set(size_t number, State state) { states_[number] = state; }

  // Numbers start at 0. Free blocks have numbers, too.
  size_t numbers() const { return numbers_; }
  size_t live_blocks() const { return live_blocks_; }
  size_t live_bytes() const { return live_bytes_; }

  // Visits all runs, including free ones. No roots lie in them.
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
    uint32_t blocks;    // free ones included
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
