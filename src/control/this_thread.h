// The ctl nodes thread.*, which read and change the state of the calling thread.
#pragma once

#include "cache/heap.h"

namespace acre::ctl {

// A thread that has not allocated yet gets its arena now. Returns 0 for a thread without a heap of its own.
unsigned arena_of_thread(int* error);

// index: the number of an automatic arena, which is made if needed, or of a manual arena (manual/binding.h). Returns 0;
// EFAULT if there can be no such arena; EAGAIN if memory is refused or the thread has no heap.
int set_arena_of_thread(unsigned index);

// Returns the thread's byte counts, brought up to date. A thread without a heap gets zeroes that never change.
const ThreadBytes* bytes_of_thread();

// The same. From now on each tick brings them up to date.
const ThreadBytes* tracked_bytes_of_thread();

int reset_peak_of_thread();

// Gives up all that the thread keeps. idle_thread() also lets the pages of its arena decay.
int flush_thread();
int idle_thread();

// Whether this thread's malloc and free use a heap of its own.
bool thread_has_cache();
int set_thread_has_cache(bool on);

}  // namespace acre::ctl
