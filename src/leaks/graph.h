// What leads where: from roots to blocks, from blocks to blocks.
//
// A word at a multiple of 8 bytes that is an address of a live block, or within one, is a pointer.
#pragma once

#include "leaks/blocks.h"
#include "leaks/memory.h"
#include "sample/profile.h"

namespace acre::leaks {

// Leaked blocks of one stack, held by roots of one stack. Of roots themselves: both the same.
struct Leak {
  const profile::Stack* root;
  const profile::Stack* stack;  // null: not known
  bool direct;
  uint64_t blocks;              // 0: no leak
  uint64_t bytes;
};

class Graph {
 public:
  Graph(Blocks& blocks, const Memory& memory) : blocks_(blocks), memory_(memory) {}
  bool prepare(Room& room);

  // Whatever is reached from there is no leak.
  void reach_range(Address start, Address end);
  void reach_word(Address word);

  // What is live and was not reached is leaked. Finds the blocks that hold the others: those at which no leaked block
  // points, and one of each ring.
  void find_roots();

  // Without find_roots: each leaked block is a root.
  void take_all_as_roots();

  // The leaks by stack, in no order; `count` places, of which some are empty. False when memory is refused.
  bool sum_up(Room& room);
  const Leak* leaks() const { return leaks_; }
  size_t places() const { return places_; }

 private:
  template <class Visit>
  void for_each_target(const Block& block, Visit&& visit) const;
  void flood();
  void push(size_t number) { pending_[pending_count_++] = number; }
  void spread(size_t root, State from_one, State from_other, State to);
  void add(const profile::Stack* root, const profile::Stack* stack, bool direct, size_t bytes);

  Blocks& blocks_;
  const Memory& memory_;
  size_t* pending_ = nullptr;  // blocks whose words are still to be looked at: none is in it twice
  size_t pending_count_ = 0;
  Leak* leaks_ = nullptr;
  size_t places_ = 0;
  const profile::Stack* root_stack_ = nullptr;
};

}  // namespace acre::leaks
