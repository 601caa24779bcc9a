// The ctl nodes thread.*, which read and change the state of the calling thread.
#pragma once

#include "cache/heap.h"
#include "control/nodes.h"

namespace acre::ctl {

// A thread that has not allocated yet gets its arena now. The number is 0 for a thread without a heap of its own. It may
// be set to that of an automatic arena, which is made if needed, or of a manual arena (manual/binding.h). EFAULT: there
// can be no such arena. EAGAIN: memory is refused, or a thread without a heap is to have an arena.
Handler thread_arena;

// Returns the thread's byte counts, brought up to date. A thread without a heap gets zeroes that never change.
const ThreadBytes* bytes_of_thread();

// The same. From now on each tick brings them up to date.
const ThreadBytes* tracked_bytes_of_thread();

Handler thread_peak_reset;

// Give up all that the thread keeps. thread_idle also lets the pages of its arena decay.
Handler thread_tcache_flush, thread_idle;

// Whether this thread's malloc and free use a heap of its own.
Handler thread_tcache_enabled;

}  // namespace acre::ctl
