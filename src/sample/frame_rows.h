// Finds the caller of a stack frame in the tables that compilers write for exceptions (.eh_frame).
//
// Such a table has a row for each place in the code. A row says where the frame ends and where the caller's registers
// are saved. Nearly all code needs only three values of it: the frame's end, counted from the stack pointer or from the
// frame pointer; the place of the return address; and the place of the caller's frame pointer. That these values
// suffice, and are quick to use, is known from libunwind ("fast trace"). If a row needs more, or the table has a rare
// feature, the row is not known, and the stack is left to libgcc's unwinder.
//
// Sources: DWARF 5, section 6.4; the Linux Standard Base (Core, 10.6) for .eh_frame and .eh_frame_hdr; the ABIs of
// x86-64 and aarch64 for the numbers of registers.
#pragma once

#include "base/units.h"
#include "os/unwind.h"

namespace acre::frame_rows {

struct Row {
  bool is_outermost = false;          // the frame has no caller; the other fields are unused
  bool is_by_frame_pointer = false;   // the end counts from the frame pointer, else from the stack pointer
  bool saves_frame_pointer = false;   // if not, the caller has the same frame pointer
  int64_t end = 0;                    // where the frame ends: the stack pointer before the call
  int64_t return_address = 0;         // where it is saved, counted from the frame's end
  int64_t frame_pointer = 0;          // where the caller's is saved, counted from the frame's end
};

// How a register of the caller is found.
enum class Rule : uint8_t { kSame, kSaved, kUndefined, kOther };
struct Value {
  Rule rule;
  int64_t offset;  // kSaved: counted from the frame's end
};

// A row under construction.
struct State {
  uint64_t base;  // the number of the register from which the end counts
  int64_t end;
  Value return_address, frame_pointer, stack_pointer;
};

// What the entries of several functions have in common (DWARF: CIE).
struct Common {
  uint64_t code_unit = 0;
  uint64_t data_unit = 0;  // in two's complement
  State first = {};        // the row that the functions begin with
};

// The tables of one object, valid while it is mapped. Reads no memory outside the object.
class Tables {
 public:
  Tables() = default;
  explicit Tables(const os::CodeObject& object);

  // Identifies these tables. Tables of another object at the same addresses have the same number only if their index is
  // at the same address, has as many entries, and ends with the same entry.
  uint64_t number() const { return number_; }

  bool cover(Address code) const { return code - object_.start < object_.end - object_.start; }

  // Finds the row for this address of code. Returns false if the row is not known.
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
  Address common_at_ = 0;   // the address of common_; 0: none was read
  Common common_;
};

}  // namespace acre::frame_rows
