// What ctl says about the calling thread, and does for it: the nodes thread.*.
#pragma once

#include "cache/heap.h"

namespace acre::ctl {

// A thread that has not allocated yet is given its arena now. 0 for one that has none.
unsigned arena_of_thread(int* error);

// index: of an automatic arena, which is made if there is none yet, or of a manual one (manual/binding.h).
// 0, EFAULT: there can be no such arena, EAGAIN: memory was refused, or the thread has no heap.
int set_arena_of_thread(unsigned index);

// Brought up to date. Zeroes that never change for a thread without a heap.
const ThreadBytes* bytes_of_thread();

// The same, to be kept up to date from now on, on ticks.
const ThreadBytes* watched_bytes_of_thread();

int reset_peak_of_thread();

// Gives up all that the thread keeps; idle: and lets its arena's pages decay.
int flush_thread();
int idle_thread();

// Whether malloc and free of the thread go through a heap of its own.
bool thread_has_cache();
int set_thread_has_cache(bool on);

}  // namespace acre::ctl
