// Up a stack by the tables that compilers write for exceptions, as far as frame_rows.h knows them.
#pragma once

#include "base/units.h"
#include "os/unwind.h"
#include "sample/frame_rows.h"

namespace acre {

struct StackFrame {
  Address code = 0;           // where it goes on, after a call
  Address stack_pointer = 0;  // there
  Address frame_pointer = 0;
};

// Allocates nothing, takes no lock. No word of the stack is read but between a frame's stack pointer and its end, which
// is above the former and not beyond the stack's; there the next frame begins.
class TableWalk {
 public:
  enum class Step : uint8_t { kToCaller, kAtEnd, kUnknown };

  TableWalk(const StackFrame& innermost, Address stack_end) : frame_(innermost), stack_end_(stack_end) {}

  const StackFrame& frame() const { return frame_; }
  Step step();

 private:
  bool find(Address code, frame_rows::Row* row);
  bool read(Address at, const frame_rows::Row& row, Address end, Address* word);

  StackFrame frame_;
  Address stack_end_;
  frame_rows::Tables tables_;  // of the object that the last frame's code was in
  os::ReadablePages pages_;
};

}  // namespace acre
