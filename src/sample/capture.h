// Who called malloc: the stack at this moment.
//
// libgcc's unwinder walks it by the tables that compilers write for exceptions, and is right, and slow: it finds all
// registers. There are two quicker ways. Where the program keeps frame pointers they are followed. Where it does not,
// what is needed of the tables is read here (table_walk.h), and what is not known that way is left to the unwinder.
// Whether a way is right is found out by trying: the first captures, and some of the later ones, are done by the
// unwinder, too, and with the first difference that way is given up for good: frame pointers for the tables, and these
// for the unwinder alone. What a frame pointer points at is read only if it lies on the stack, further up than the last
// one, in a page that can be read. Where frame pointers end, as they do where the C library's own frames begin, it goes on by
// the tables: a stack is whole, or marked.
#pragma once

#include "base/units.h"

namespace acre::capture {

inline constexpr unsigned kMostFrames = 128;

struct Frames {
  unsigned count = 0;
  bool truncated = false;            // there were more, or nobody knows whether there were
  Address address[kMostFrames];      // where each frame goes on, the innermost first; none of acre's own
};

// How stacks are walked.
enum class Way : uint8_t {
  kNoUnwinder,     // was found, or looked for: by tables as far as they are known, and then by frame pointers
  kFramePointers,  // as long as they are seen to give what the unwinder gives; then the next way
  kTables,         // likewise
  kUnwinder,
};
Way way();

// Looks for an unwinder and lets it make ready what it may have to. Allocates; no lock may be held.
void prepare();

// Allocates nothing, takes no lock of acre's; before prepare(), none of the loader's either.
void take(Frames& frames);

// For tests. Comparing begins anew.
void set_way(Way way);

}  // namespace acre::capture
