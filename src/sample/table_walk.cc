#include "sample/table_walk.h"

#include "base/frames.h"
#include "sample/known_rows.h"

namespace acre {

namespace {

constinit frame_rows::KnownRows g_known_rows;

}  // namespace

// A word counted from the stack pointer lies in the frame and is readable. A frame pointer may be anything if the
// tables are wrong, so its page is checked.
bool TableWalk::read(Address at, const frame_rows::Row& row, Address end, Trail::Mark* mark) {
  if (at < frame_.stack_pointer || at >= end || !is_aligned(at, sizeof mark->word)) return false;
  if (row.is_by_frame_pointer && !pages_.reads(at)) return false;
  *mark = {(at - begin_) | (row.is_by_frame_pointer ? Trail::kIsUncertain : 0), word_at(at)};
  return true;
}

void TableWalk::note_frame_pointer() {
  if (is_frame_pointer_read_) {
    trail_.add(frame_pointer_);
  } else {
    trail_.go_by_register();
  }
}

bool TableWalk::find(Address code, frame_rows::Row* row) {
  if (g_known_rows.find(code, tables_.number(), row)) return true;
  if (!tables_.find(code, row)) return false;
  g_known_rows.keep(code, tables_.number(), *row);
  return true;
}

TableWalk::Step TableWalk::step() {
  const Address call = frame_.code - 1;  // if a call ends its function, the next address is in another one
  if (!tables_.cover(call)) {
    os::CodeObject object;
    if (!os::find_object(call, &object)) return Step::kUnknown;
    tables_ = frame_rows::Tables(object);
  }
  frame_rows::Row row;
  if (!find(call, &row)) return Step::kUnknown;
  if (row.is_outermost) return Step::kAtEnd;
  const Address base = row.is_by_frame_pointer ? frame_.frame_pointer : frame_.stack_pointer;
  const Address end = base + static_cast<Address>(row.end);
  if (end <= frame_.stack_pointer || end > stack_end_ || !is_aligned(end, sizeof(Address))) return Step::kUnknown;
  if (row.is_by_frame_pointer) note_frame_pointer();
  Trail::Mark code;
  if (!read(end + static_cast<Address>(row.return_address), row, end, &code)) return Step::kUnknown;
  code.place |= Trail::kIsCode;
  trail_.add(code);
  StackFrame caller{code.word & kCodeBits, end, frame_.frame_pointer};
  if (row.saves_frame_pointer) {
    if (!read(end + static_cast<Address>(row.frame_pointer), row, end, &frame_pointer_)) return Step::kUnknown;
    is_frame_pointer_read_ = true;
    caller.frame_pointer = frame_pointer_.word;
  }
  frame_ = caller;
  return caller.code == 0 ? Step::kAtEnd : Step::kToCaller;
}

}  // namespace acre
