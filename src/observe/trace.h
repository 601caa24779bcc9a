// The option utrace: a line of text in a file for each allocation and each free of the process. realloc makes a line
// for the block that it returns, and one for its argument if that is another block, or its length in pages changes.
//
// The trace is called where hooks are (hooks.h), so the hot paths do not know about it. Lines go into one of two
// buffers under a lock. The thread that fills a buffer writes it with no lock held, while others fill the other. The
// file is the process's own: it must not exist before, and its descriptor is a high one, which is checked before each
// write still to be that file. Lines in the buffer are lost if the process ends otherwise than by exit.
#pragma once

#include <cstddef>

#include "base/mutex.h"
#include "cache/heap.h"

namespace acre::trace {

// Starts the trace, for which the option is set, while no thread has allocated yet.
void start();

// Writes the lines that are left. No line follows.
void end();

// --- For hooks.cc ---------------------------------------------------------------------------------------------

bool is_on();

// Called with no lock held.
void allocated(const void* block, size_t bytes);
void freeing(const void* block);

// The child writes a file of its own if the path has a %p, and nothing otherwise.
void at_fork(ForkStage stage);

}  // namespace acre::trace
