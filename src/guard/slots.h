// Slots of guarded blocks: each is one page between two pages that can never be read or written.
//
//   | no access |  slot 0  | no access |  slot 1  | no access |  ...
//
// The block lies at the left or the right edge of its page, at random, so that a walk past one of its ends leaves the
// page. A size class's bytes are a multiple of the alignment that its blocks have, so at the right edge nothing is left
// behind the block. What the program has not asked for, in the block and beside it, holds a pattern.
//
// A slot is free, live, or, between its block's free and its next use, *spent*: it cannot be read or written, has no
// memory, and knows its last block. The slot that was spent first is used first.
#pragma once

#include "cache/sampled_run.h"
#include "cache/upcalls.h"

namespace acre::guard {

// A stack, and its thread's number in the kernel; 0: there is none.
struct Calls {
  static constexpr unsigned kMost = 30;

  uint32_t thread = 0;
  uint16_t count = 0;
  bool truncated = false;
  Address code[kMost];
};

struct Slot {
  SampledRun header;  // with its pages and one block it is a run of sampled blocks to all other code
  Run run;
  uint64_t free_bit = 1;
  Ticket ticket = kNoTicket;
  Slot* next = nullptr;  // the one that was spent after this one
  Calls allocated, freed;

  bool is_used() const { return racy_load(header.base) != 0; }  // it was ever
  bool is_live() const { return racy_load(header.free) == 0; }
  Address block() const { return racy_load(header.base); }
  size_t bytes() const { return racy_load(header.block_bytes); }
};

namespace slots {

// Returns a live slot with a block of this class, whose first `asked` bytes are zero. Null: there is none, or memory is
// refused. Takes no stack.
Slot* take(PageHeap& home, SizeClass c, size_t asked);

// Makes the live slot spent. begin() is first, and returns false if the block is free already; end() makes the slot
// inaccessible.
bool begin_free(Slot* slot);
void end_free(Slot* slot);

// Where the pattern around a live block is damaged, at the place nearest to what was asked for. 0: it is whole.
Address damaged_at(const Slot* slot);

// Whether an address is in the pages of all slots. Async-signal-safe, as are the functions below.
bool has(Address a);

// The slot with the block that lies there or is the nearest of those that were used. Null: none was, on either side.
const Slot* nearest(Address a);

void at_fork(ForkStage stage);

}  // namespace slots

struct Counts {
  uint64_t made = 0, live = 0, refused = 0;
  uint64_t live_bytes = 0;  // of pages
};
Counts counts();

}  // namespace acre::guard
