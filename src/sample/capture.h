// Captures the stack of the calling thread.
//
// libgcc's unwinder walks the stack by the tables that compilers write for exceptions. It is right but slow, since it
// restores all registers. Two quicker ways come first: frame pointers, if the program keeps them, and else a reader of
// the tables (table_walk.h), which leaves to the unwinder what it does not know. The unwinder checks both ways: it
// repeats the first captures and some of the later ones. At the first difference a way is given up for good.
//
// A frame pointer is followed only if it points into the stack, above the last one, to a readable page. Where frame
// pointers end, as at the C library's own frames, the walk goes on by the tables. A stack that is not whole is marked
// as truncated.
#pragma once

#include "base/units.h"

namespace acre::capture {

inline constexpr unsigned kMostFrames = 128;

struct Frames {
  unsigned count = 0;
  bool truncated = false;            // there are more frames, or their number is unknown
  Address address[kMostFrames];      // where each frame goes on, innermost first, without acre's own frames
};

// How stacks are walked.
enum class Way : uint8_t {
  kNoUnwinder,     // none was found, or prepare() has not run: by the tables as far as known, then by frame pointers
  kFramePointers,  // while the unwinder confirms them; then the next way
  kTables,         // likewise
  kUnwinder,
};
Way way();

// Finds the unwinder and lets it do its one-time initialization. Allocates; the caller must hold no lock.
void prepare();

// Allocates nothing and takes no lock of acre's. Before prepare(), takes no lock of the loader's either.
void take(Frames& frames);

// For tests. Starts the comparisons with the unwinder again.
void set_way(Way way);

}  // namespace acre::capture
