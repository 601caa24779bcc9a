// Walks up a stack by the tables that compilers write for exceptions, as far as frame_rows.h knows them.
#pragma once

#include "base/units.h"
#include "os/unwind.h"
#include "sample/frame_rows.h"
#include "sample/known_walks.h"

namespace acre {

// Allocates nothing and takes no lock. Reads words of the stack only between a frame's stack pointer and its end. The
// end must lie above the stack pointer and not beyond the stack's end; the next frame begins there.
class TableWalk {
 public:
  enum class Step : uint8_t { kToCaller, kAtEnd, kUnknown };

  TableWalk(const StackFrame& innermost, Address stack_end)
      : frame_(innermost), begin_(innermost.stack_pointer), stack_end_(stack_end) {}

  const StackFrame& frame() const { return frame_; }
  const Trail& trail() const { return trail_; }
  Step step();

 private:
  bool find(Address code, frame_rows::Row* row);
  bool read(Address at, const frame_rows::Row& row, Address end, Trail::Mark* mark);
  void note_frame_pointer();

  StackFrame frame_;
  Address begin_;
  Address stack_end_;
  frame_rows::Tables tables_;  // of the object with the last frame's code
  os::ReadablePages pages_;
  Trail trail_;
  Trail::Mark frame_pointer_;          // where it was last read
  bool is_frame_pointer_read_ = false;
};

}  // namespace acre
