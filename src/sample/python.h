// The frames of a CPython interpreter, 3.11 to 3.14, that runs in the calling thread.
//
// A C function runs several Python functions that call each other. What the interpreter keeps of them says where this
// C function's own frame lies, so each Python frame is assigned to a native one. The thread reads what it has written
// itself, so the frames are consistent. Still all reads are checked: a daemon thread may outlive its interpreter.
#pragma once

#include "base/mutex.h"
#include "sample/capture.h"
#include "sample/python_code.h"

namespace acre::python {

inline constexpr unsigned kMostFrames = 128;

// A Python frame: its place, and which of the native frames runs it. The number of native frames, if that is not known.
class Frame {
 public:
  Frame() = default;
  Frame(const Place* place, unsigned native) : word_(address_of(place) | uint64_t{native} << kNativeShift) {}
  const Place& place() const {
    return *static_cast<const Place*>(pointer_to(word_ & ((uint64_t{1} << kNativeShift) - 1)));
  }
  unsigned native() const { return static_cast<unsigned>(word_ >> kNativeShift); }
  uint64_t word() const { return word_; }  // the same for equal frames

 private:
  static constexpr unsigned kNativeShift = 52;
  uint64_t word_;
};

struct Frames {
  unsigned count = 0;
  bool truncated = false;  // there are more
  Frame frame[kMostFrames];  // innermost first
};

void set_active(bool active);
bool is_active();

// Adds nothing where no interpreter is known. Allocates nothing and takes no lock of the loader's.
void take(const capture::Frames& native, Frames& frames);

void at_fork(ForkStage stage);

}  // namespace acre::python
