// Who called malloc: the stack at this moment.
//
// The unwinder walks it by the tables that compilers write for exceptions. Where the program keeps frame pointers there
// is a quicker way, and whether it does is found out by trying: the first captures, and some of the later ones, are done
// both ways, and with the first difference frame pointers are given up for good. What a frame pointer points at is
// read only if it lies on the stack, further up than the last one, in a page that can be read.
#pragma once

#include "base/units.h"

namespace acre::capture {

inline constexpr unsigned kMostFrames = 128;

struct Frames {
  unsigned count = 0;
  bool truncated = false;            // there were more
  Address address[kMostFrames];      // where each frame goes on, the innermost first; none of acre's own
};

// How stacks are walked.
enum class Way : uint8_t {
  kNone,           // not prepared, or there is no unwinder and acre is part of the program
  kUnwinder,
  kFramePointers,
  kMeasured,       // the latter as long as it is seen to give what the former gives
};
Way way();

// Looks for an unwinder and lets it make ready what it may have to. Allocates; no lock may be held.
void prepare();

// Allocates nothing, takes no lock of acre's.
void take(Frames& frames);

// For tests.
void set_way(Way way);

}  // namespace acre::capture
