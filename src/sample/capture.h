// Who called malloc: the stack at this moment.
//
// libgcc's unwinder walks it by the tables that compilers write for exceptions, and is right, and slow: some 40 000
// instructions a stack. So walks are kept, and known again by the return addresses on the stack (known_walks.h). Whether
// they are right is found out by trying: the first walks that are known, and some of the later ones, are done by the
// unwinder as well. With the first difference known walks are given up for good.
//
// Where the unwinder ends before the stack does, as in code made at run time, and where there is none, frame pointers are
// followed. What a frame pointer points at is read only if it lies on the stack, further up than the last one, in a page
// that can be read. A stack is whole, or marked.
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
  kNoUnwinder,  // was found, or looked for: by frame pointers
  kKnownWalks,  // as long as they are seen to be what the unwinder gives, and by the unwinder where none is known
  kUnwinder,
};
Way way();

// Looks for an unwinder and lets it make ready what it may have to. Allocates; no lock may be held.
void prepare();

// Allocates nothing, takes no lock of acre's; before prepare(), none of the loader's either.
void take(Frames& frames);

// For tests. Comparing begins anew, and so does the number of walks that were known.
void set_way(Way way);
uint64_t known();

}  // namespace acre::capture
