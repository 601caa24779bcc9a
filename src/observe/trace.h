// The option utrace: a line of text in a file for each allocation and each free of the process. realloc makes a line for the
// block that it returns, and one for the block that it was given, if these are two, or one whose length in pages changes.
//
// It enters where hooks do (hooks.h), so the hot paths know nothing of it. Lines go into one of two buffers under a
// lock; whoever fills one writes it, with no lock held, while others fill the other. The file is the process's own: it
// must not have been there before, its descriptor is a high one, and each time it is written the descriptor is asked
// whether it still is that file. What a process still has in its buffer when it ends otherwise than by exit is lost.
#pragma once

#include <cstddef>

#include "base/mutex.h"
#include "cache/heap.h"

namespace acre::trace {

// As the option says, which is set; while nobody has allocated yet.
void start();

// Writes what is left. No line follows.
void end();

// --- For hooks.cc ---------------------------------------------------------------------------------------------

bool is_on();

// Called with no lock held.
void allocated(const void* block, size_t bytes);
void freeing(const void* block);

// The child writes a file of its own if the path has a %p, and nothing otherwise.
void at_fork(ForkStage stage);

}  // namespace acre::trace
