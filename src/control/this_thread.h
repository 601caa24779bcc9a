// The ctl nodes thread.*, which read and change the state of the calling thread, and tcache.*.
#pragma once

#include "cache/heap.h"
#include "control/nodes.h"

namespace acre::ctl {

// A thread that has not allocated yet gets its arena now. The number is 0 for a thread without a heap of its own. It
// may be set to that of an automatic arena, which is made if needed, or of a manual arena (manual/binding.h). EFAULT:
// there can be no such arena. EAGAIN: memory is refused, or a thread without a heap is to have an arena.
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

// jemalloc's explicit thread caches, which a program creates and names to mallocx and dallocx. acre's threads keep
// runs, not caches of blocks, so such a cache holds nothing. Allocations and frees through it use the calling thread's
// own heap. The cache is only an identifier, valid from create to destroy.
namespace caches {

inline constexpr unsigned kMost = 4093;  // as many as MALLOCX_TCACHE has bits for

Handler create;   // the smallest free identifier. EAGAIN: all are in use
Handler flush;    // gives up what the calling thread keeps. EFAULT: there is no such cache
Handler destroy;  // the same, and frees the identifier

}  // namespace caches

}  // namespace acre::ctl
