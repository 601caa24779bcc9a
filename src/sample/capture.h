// Captures the stack of the calling thread.
//
// libgcc's unwinder walks the stack by the tables that compilers write for exceptions. It is right but slow: some 1800
// instructions a frame. So acre learns from its walks to take the same steps itself (known_steps.h), and keeps walks
// through places where that cannot be learned (known_walks.h). The unwinder checks both: it repeats the first walks that
// were made without it and some of the later ones. At the first difference, or after several of steps, what differed is
// given up for good.
//
// Where the unwinder stops before the stack's end, as in code made at run time, and where there is no unwinder, frame
// pointers are followed. A frame pointer is followed only if it points into the stack, above the last one, to a readable
// page. A stack that is not whole is marked as truncated.
#pragma once

#include "base/frames.h"
#include "os/unwind.h"

namespace acre::capture {

using Frames = CapturedFrames;
inline constexpr unsigned kMostFrames = Frames::kMost;

// How stacks are walked.
enum class Way : uint8_t {
  kNoUnwinder,  // none was found, or prepare() has not run: by frame pointers
  kKnownWalks,  // by known steps and walks, while the unwinder confirms them, and else by the unwinder
  kUnwinder,
};
Way way();

// Finds the unwinder and lets it do its one-time initialization. Allocates; the caller must hold no lock.
void prepare();

// Allocates nothing and takes no lock of acre's. Before prepare(), takes no lock of the loader's either. last: the
// thread's last walk; null: none is kept. Returns 0, or a StackHash: then `frames` is empty, and last->copy_to() gives what
// has that hash.
class LastWalk;
uint64_t take(Frames& frames, LastWalk* last = nullptr);
// The same for the stack from `first` on, a frame of the calling thread: where ACRE_CALLERS_FRAME() was evaluated, for
// one.
uint64_t take_from(const StackFrame& first, Frames& frames, LastWalk* last);

// For tests. Starts the comparisons with the unwinder again, and the count of walks that were made without it.
void set_way(Way way);
uint64_t known();

}  // namespace acre::capture
