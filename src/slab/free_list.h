// Free blocks and the links between them.
//
// A free block's first eight bytes are its Link: the next free block's address, hidden by a key of the process.
// Addresses have at most 48 bits, so the upper sixteen bits of each link are those of the key: the *mark*. A live block
// of random contents has the mark once in 65 536 times, so free() searches the lists for a block that has it
// (cache/misuse.cc). malloc takes only blocks whose link leads to an address, which a link that was overwritten whole
// does as seldom, and clears the link of each block that it returns.
#pragma once

#include "base/fatal.h"
#include "base/units.h"
#include "slab/slab.h"

namespace acre {

using Mark = uint16_t;
inline constexpr unsigned kMarkAt = 48;

// Random bits for each process. Set before the first run is made. The mark's bits are not those with which numbers and
// addresses begin: 0 or all ones.
inline constinit uint64_t g_link_key ACRE_HIDDEN = uint64_t{0x8000} << kMarkAt;
inline constinit Mark g_mark ACRE_HIDDEN = 0x8000;
inline void set_link_key(uint64_t secret) {
  g_mark = static_cast<Mark>((secret >> kMarkAt & 0xbfff) | 0x8000);
  g_link_key = (secret & ((uint64_t{1} << kMarkAt) - 1)) | uint64_t{g_mark} << kMarkAt;
}

// No block lies at this address or above. A variable, so that it is an operand of one instruction.
inline constinit uint64_t g_past_blocks ACRE_HIDDEN = uint64_t{1} << kMarkAt;

struct Link {
  uint64_t hidden;

  // Null: the end of the list.
  ACRE_ALWAYS_INLINE Link* next() const { return reinterpret_cast<Link*>(hidden ^ g_link_key); }
  ACRE_ALWAYS_INLINE void set_next(const Link* next) { hidden = reinterpret_cast<uint64_t>(next) ^ g_link_key; }
  ACRE_ALWAYS_INLINE Mark mark() const { return static_cast<Mark>(hidden >> kMarkAt); }
};

ACRE_ALWAYS_INLINE Link* link_of(void* block) { return static_cast<Link*>(block); }
ACRE_ALWAYS_INLINE Link* link_of(Address block) { return reinterpret_cast<Link*>(block); }
ACRE_ALWAYS_INLINE bool is_marked(const void* block) { return static_cast<const Link*>(block)->mark() == g_mark; }
// Whether `next`, which a block's link leads to, is an address; which it is if the block has the mark.
ACRE_ALWAYS_INLINE bool is_address(const Link* next) { return reinterpret_cast<uint64_t>(next) < g_past_blocks; }

// While other threads change the list.
inline Link* racy_next(const Link* link) { return Link{racy_load(link->hidden)}.next(); }
inline bool seems_marked(const Link* link) { return Link{racy_load(link->hidden)}.mark() == g_mark; }

// For a block that the program gets.
ACRE_ALWAYS_INLINE void clear_link(Link* block) { block->hidden = 0; }

// Makes the block a free one, before `next` on a list.
ACRE_ALWAYS_INLINE Link* write_link(void* block, const Link* next) {
  link_of(block)->set_next(next);
  return link_of(block);
}

// Ends a list, which is longer, after `count` blocks, at least 1. Returns the rest.
inline Link* cut_off(Link* head, uint32_t count) {
  Link* last = head;
  while (--count != 0) last = last->next();
  Link* rest = last->next();
  last->set_next(nullptr);
  return rest;
}

[[noreturn]] void overwritten_list();

// The number of blocks on a list, and its last block. Ends the program if the list was overwritten.
struct ListEnd {
  uint32_t count = 0;
  Link* last = nullptr;
};
ListEnd walk_list(const Slab* slab, Link* head);

// A list of blocks of one run, and their number.
struct BlockList {
  const Slab* run = nullptr;
  Link* head = nullptr;
  uint32_t count = 0;
  explicit operator bool() const { return count != 0; }
};

}  // namespace acre
