// Huge blocks. Each is a mapping of its own: mremap can grow it, and free leaves nothing behind.
#pragma once

#include <cstddef>

#include "base/mutex.h"
#include "os/os.h"
#include "pages/run.h"

namespace acre::huge {

// Returns a block of at least `bytes` bytes (zeroed if run->fresh) at a multiple of alignment (a power of two, at least
// a page), or null if the OS or a limit refuses. home: the block's manual arena, if any.
Run* allocate(size_t bytes, size_t alignment, PageHeap* home = nullptr);

void free(Run* run);

// Frees a block after a failed move onto its first `bytes` bytes. By now other memory may be mapped there.
void free_after_move(Run* run, size_t bytes, os::Move move);

// Changes the length in place. Returns false, with nothing changed, if the block is a source's or cannot grow.
bool resize_in_place(Run* run, size_t bytes);

// Moves the block's pages to a larger block and frees the old run. Null, with nothing changed, if refused.
Run* grow_elsewhere(Run* run, size_t bytes);

struct Counts {
  size_t blocks = 0;
  size_t bytes = 0;
};
Counts counts();
size_t bytes_about();  // without the lock; may be a moment old
LockCounts lock_counts();

void at_fork(ForkStage stage);

}  // namespace acre::huge
