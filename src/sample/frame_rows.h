// What it takes to go from a frame of the stack to its caller, from the tables that compilers write for exceptions
// (.eh_frame).
//
// Such a table has a row for each place in the code. It says where the frame ends and where the caller's registers are
// to be found. Three things of it are enough to go from frame to frame, in nearly all code: the frame's end, counted
// from the stack pointer or from the frame pointer; the address to return to; and the caller's frame pointer. That so
// little is enough, and quick, is known from libunwind ("fast trace"). Where it is not enough, or a table has something
// that is seldom written, the answer is that it is not known; then libgcc's unwinder knows.
//
// The facts are from DWARF 5, section 6.4; from the Linux Standard Base (Core, 10.6) for .eh_frame and .eh_frame_hdr;
// and from the ABIs of x86-64 and aarch64 for the registers' numbers.
#pragma once

#include "base/units.h"
#include "os/unwind.h"

namespace acre::frame_rows {

struct Row {
  bool is_outermost = false;          // the frame has no caller, and nothing else is said
  bool is_by_frame_pointer = false;   // the end is counted from there, else from the stack pointer
  bool saves_frame_pointer = false;   // if not, the caller's is the same
  int64_t end = 0;                    // where the frame ends: the stack pointer before the call
  int64_t return_address = 0;         // where it lies, from the end on
  int64_t frame_pointer = 0;          // where the caller's lies, from the end on
};

// How a register of the caller is found.
enum class Rule : uint8_t { kSame, kSaved, kUndefined, kOther };
struct Value {
  Rule rule;
  int64_t offset;  // kSaved: from the frame's end on
};

// A row as the instructions build it up.
struct State {
  uint64_t base;  // the number of the register that the end is counted from
  int64_t end;
  Value return_address, frame_pointer, stack_pointer;
};

// What several functions' entries have in common (DWARF: CIE).
struct Common {
  uint64_t code_unit = 0;
  uint64_t data_unit = 0;  // in two's complement
  State first = {};        // the row that they begin with
};

// The tables of one object, for as long as it is mapped. Reads nothing but what is mapped of it.
class Tables {
 public:
  Tables() = default;
  explicit Tables(const os::CodeObject& object);

  // One for these tables. Others at the same addresses have the same number only if as many functions have entries, the
  // last of which begins at the same place, and entries that are as long all together.
  uint64_t number() const { return number_; }

  bool cover(Address code) const { return code - object_.start < object_.end - object_.start; }

  // The row for this address of code. False: not known.
  bool find(Address code, Row* row);

 private:
  uint64_t mix() const;
  Address entry_for(Address code) const;
  bool find_in(Address entry, Address code, Row* row);
  bool read_common(Address at);

  os::CodeObject object_;
  Address places_ = 0;      // the index, sorted by code
  uint64_t count_ = 0;
  uint64_t number_ = 0;
  Address common_at_ = 0;   // what was read last; 0: nothing
  Common common_;
};

}  // namespace acre::frame_rows
