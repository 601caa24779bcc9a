// The pointers from roots to blocks and from blocks to blocks.
//
// A word at a multiple of 8 bytes is a pointer if it is an address in a live block.
#pragma once

#include "leaks/blocks.h"
#include "leaks/memory.h"
#include "sample/profile.h"
#include "tables/size_class.h"

namespace acre::leaks {

// Leaked blocks of one stack that are held by roots of one stack. For the roots themselves both stacks are the same.
struct Leak {
  const profile::Stack* root;
  const profile::Stack* stack;  // null: not known
  bool direct;
  size_t block_bytes;           // of each of them; large blocks: the power of two that is not above
  uint64_t blocks;              // 0: the place is empty
  uint64_t bytes;
};

class Graph {
 public:
  Graph(Blocks& blocks, const Memory& memory) : blocks_(blocks), memory_(memory) {}
  bool prepare(Room& room);

  // The blocks that are reached from here are not leaked.
  void reach_range(Address start, Address end);
  void reach_word(Address word);

  // The live blocks that were not reached are leaked. Finds the roots, which hold the others: the blocks at which no
  // leaked block points, and one block of each ring.
  void find_roots();

  // Instead of find_roots(): makes each leaked block a root.
  void take_all_as_roots();

  // After find_roots(): estimates how many small blocks are leaked and yet reached, by pointers that former users of
  // blocks left there. Blocks of one size mostly have the same fields. So a pointer to a block of a leaking size may be
  // a leftover if fewer than nine tenths of the small blocks of its holder's size have such a pointer at its offset. A
  // block counts if all pointers to it may be leftovers. Returns false if memory is refused.
  bool count_doubtful(Room& room, uint64_t* blocks);

  // Sums up the leaks by stack and size, in no order. Some of the places() places are empty. Returns false if memory is
  // refused.
  bool sum_up(Room& room);
  const Leak* leaks() const { return leaks_; }
  size_t places() const { return places_; }

 private:
  template <class Visit>
  void for_each_target(const Block& block, Visit&& visit) const;
  template <class Visit>
  void visit_from(size_t first, Visit&& visit);  // the targets of this block and of those that are pushed meanwhile
  void push(size_t number) { pending_[pending_count_++] = number; }
  void spread(size_t root, State from_one, State from_other, State to);
  void add(const profile::Stack* root, const profile::Stack* stack, bool direct, size_t bytes);
  bool is_leaked(size_t number) const {
    return blocks_.state(number) == State::kRoot || blocks_.state(number) == State::kGrouped;
  }
  bool is_reached(size_t number) const {
    return blocks_.state(number) >= State::kReached && blocks_.state(number) <= State::kRooted;
  }
  // The class of a small block, or kSmallClasses.
  SizeClass class_of(size_t number) const {
    const size_t bytes = blocks_.at(number).bytes;
    return bytes <= kSmallMax ? class_of_size(bytes) : kSmallClasses;
  }

  Blocks& blocks_;
  const Memory& memory_;
  size_t* pending_ = nullptr;  // blocks whose words are still to be looked at, each at most once
  size_t pending_count_ = 0;
  Leak* leaks_ = nullptr;
  size_t places_ = 0;
};

}  // namespace acre::leaks
