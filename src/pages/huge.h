// Huge blocks: each a mapping of its own, so that it can grow with mremap and leaves nothing behind.
#pragma once

#include <cstddef>

#include "base/mutex.h"
#include "os/os.h"
#include "pages/run.h"

namespace acre::huge {

// A block of at least `bytes` zeroed bytes whose address is a multiple of alignment (a power of two, at
// least a page). Null when the OS refuses. home: the manual arena that the block belongs to, if any, whose limit may
// refuse too.
Run* allocate(size_t bytes, size_t alignment, PageHeap* home = nullptr);

void free(Run* run);

// Frees a block onto whose first `bytes` bytes a move was tried that was not done: they may be unmapped, and
// somebody else's by now.
void free_after_move(Run* run, size_t bytes, os::Move move);

// Changes the block's length where it is. False: nothing has changed. To shrink never fails, but for memory of a source.
bool resize_in_place(Run* run, size_t bytes);

// The block, grown, at another address: moves its pages, not their contents one by one. The old run is gone
// then. Null: nothing has changed.
Run* grow_elsewhere(Run* run, size_t bytes);

struct Counts {
  size_t blocks = 0;
  size_t bytes = 0;
};
Counts counts();
LockCounts lock_counts();

void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

}  // namespace acre::huge
