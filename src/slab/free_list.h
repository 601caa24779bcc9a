// Free blocks and the links between them.
//
// A free block's first eight bytes are a Link: the low 32 bits of the next free block's address (a run never crosses a
// multiple of 4 GiB, so the high bits are the run's), hidden by a key; and a mark: the low 32 bits of the address of its
// run's header. Headers lie out of line and programs never see their addresses, so a block that carries its run's mark is
// almost certainly free: free() checks it exactly (cache/misuse.cc). malloc takes only blocks with a mark, so that an overwritten
// link never leads it elsewhere, and clears the Link of each block that it returns.
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

// Random bits for each process, with which addresses in lists are hidden; even, so that they do not hide the end of a
// list. Set before the first run is made.
inline constinit uint32_t g_link_key ACRE_HIDDEN = 0;
inline void set_link_key(uint64_t secret) { g_link_key = static_cast<uint32_t>(secret) & ~kEndOfList; }

ACRE_ALWAYS_INLINE LowAddress low_address(Address a) { return static_cast<LowAddress>(a) ^ g_link_key; }
ACRE_ALWAYS_INLINE LowAddress low_address(const void* p) { return low_address(address_of(p)); }
ACRE_ALWAYS_INLINE Address high_part(Address a) { return a & ~Address{0xffffffff}; }
// What turns a LowAddress of this run's blocks into an address, by exclusive or.
ACRE_ALWAYS_INLINE Address reveal_of(const Slab* slab) { return high_part(slab->base) | g_link_key; }
ACRE_ALWAYS_INLINE bool is_end(LowAddress low) { return (low & kEndOfList) != 0; }

ACRE_ALWAYS_INLINE Link* link_of(void* block) { return static_cast<Link*>(block); }
ACRE_ALWAYS_INLINE Link* link_at(const Slab* slab, LowAddress low) {
  return reinterpret_cast<Link*>(reveal_of(slab) ^ low);
}

ACRE_ALWAYS_INLINE Mark mark_of(const Slab* slab) { return static_cast<Mark>(address_of(slab)); }
ACRE_ALWAYS_INLINE bool is_marked(const Slab* slab, const void* block) {
  return static_cast<const Link*>(block)->mark == mark_of(slab);
}

// For a block that the program gets.
ACRE_ALWAYS_INLINE void clear_link(Link* block) {
  const uint64_t zero = 0;
  __builtin_memcpy(block, &zero, sizeof zero);
}

ACRE_ALWAYS_INLINE void write_link(const Slab* slab, void* block, LowAddress next) {
  link_of(block)->next = next;
  link_of(block)->mark = mark_of(slab);
}

// Ends a list after `most` blocks, at least 1, if it is longer. reveal: of the blocks' runs.
struct CutOff {
  uint32_t count;  // blocks that the list has now
  LowAddress rest;
};
inline CutOff cut_off(Address reveal, LowAddress head, uint32_t most) {
  Link* last = reinterpret_cast<Link*>(reveal ^ head);
  uint32_t count = 1;
  for (; count < most && !is_end(last->next); ++count) last = reinterpret_cast<Link*>(reveal ^ last->next);
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
  const Slab* run = nullptr;
  LowAddress head = kEndOfList;
  uint32_t count = 0;
  explicit operator bool() const { return count != 0; }
};

}  // namespace acre
