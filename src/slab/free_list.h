// Free blocks and the links between them.
//
// A free block's first eight bytes are a Link: the low 32 bits of the next free block's address (a run never crosses a
// multiple of 4 GiB, so the high bits are the run's), and a mark: the low 32 bits of the address of its run's header.
// Headers lie out of line and programs never see their addresses, so a block that carries its run's mark is almost
// certainly free: free() checks it exactly (cache/misuse.cc). malloc clears the mark of each block that it returns.
#pragma once

#include "base/fatal.h"
#include "base/units.h"
#include "slab/slab.h"

namespace acre {

using Mark = uint32_t;

struct Link {
  LowAddress next;
  Mark mark;
};

ACRE_ALWAYS_INLINE LowAddress low_address(const void* p) { return static_cast<LowAddress>(address_of(p)); }
ACRE_ALWAYS_INLINE LowAddress low_address(Address a) { return static_cast<LowAddress>(a); }
ACRE_ALWAYS_INLINE Address high_part(Address a) { return a & ~Address{0xffffffff}; }
ACRE_ALWAYS_INLINE bool is_end(LowAddress low) { return (low & kEndOfList) != 0; }

ACRE_ALWAYS_INLINE Link* link_of(void* block) { return static_cast<Link*>(block); }
ACRE_ALWAYS_INLINE Link* link_at(const Slab* slab, LowAddress low) {
  return reinterpret_cast<Link*>(high_part(slab->base) | low);
}

ACRE_ALWAYS_INLINE Mark mark_of(const Slab* slab) { return static_cast<Mark>(address_of(slab)); }
ACRE_ALWAYS_INLINE bool is_marked(const Slab* slab, const void* block) {
  return static_cast<const Link*>(block)->mark == mark_of(slab);
}

ACRE_ALWAYS_INLINE void write_link(const Slab* slab, void* block, LowAddress next) {
  link_of(block)->next = next;
  link_of(block)->mark = mark_of(slab);
}

// Ends a list after `most` blocks, at least 1, if it is longer. high: the blocks' high address bits.
struct CutOff {
  uint32_t count;  // blocks that the list has now
  LowAddress rest;
};
inline CutOff cut_off(Address high, LowAddress head, uint32_t most) {
  Link* last = reinterpret_cast<Link*>(high | head);
  uint32_t count = 1;
  for (; count < most && !is_end(last->next); ++count) last = reinterpret_cast<Link*>(high | last->next);
  const LowAddress rest = last->next;
  last->next = kEndOfList;
  return {count, rest};
}

[[noreturn]] void overwritten_list();

// The number of blocks on a list, and its last block. Ends the program if the list was overwritten.
struct ListEnd {
  uint32_t count = 0;
  Link* last = nullptr;
};
ListEnd walk_list(const Slab* slab, LowAddress head);

// A list of blocks of one run, and their number.
struct BlockList {
  Address high = 0;  // the blocks' high address bits
  LowAddress head = kEndOfList;
  uint32_t count = 0;
  explicit operator bool() const { return count != 0; }
};

}  // namespace acre
