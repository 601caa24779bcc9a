// Recording: each allocation and each free goes to a process beside this one, the collector, through memory that both
// share (format.h). What was written is not lost, however this process ends.
//
// The calls come from where hooks are called (observe/hooks.h), so the hot paths do not know about recording. They come
// with no lock held, for an allocation before the program gets the block, and for a free before another thread can get
// it. A thread writes into a lane of its own. Events of threads without a lane, and those of a signal handler that
// interrupted an event, go to a common lane, under a lock.
//
// A thread that has filled its lane waits for the collector. If the collector has ended, recording ends.
#pragma once

#include "base/mutex.h"
#include "cache/heap.h"

namespace acre::record {

// Starts recording. place: the collector's process and descriptor, as "123/4". Threads take part from their next
// allocation on a slow path on. Returns 0, or an error number, EBUSY if a recording is under way.
int start(const char* place);

// Whatever is written later is not collected.
void stop();

bool is_on();
// Whether allocations' stacks are recorded. capture::prepare() (sample/capture.h) is to follow then.
bool has_stacks();

// Writes a text into the recording, if there is one: docs/record.md. Null: the tag that the thread has in force.
void mark(const char* text);
inline void tag_changed() {
  if (is_on()) mark(nullptr);
}

// --- For hooks.cc ---------------------------------------------------------------------------------------------

// heap: the calling thread's, null if it has none. asked: the bytes that the program asked for.
// allocated() returns the block.
void* allocated(Heap* heap, const void* block, size_t asked);
void freeing(Heap* heap, const void* block);
// A realloc that left the block as it is.
void resized(Heap* heap, const void* block, size_t asked);

// An on_runs::Hook.
void tell_run(Address base, size_t pages, size_t block_bytes);

// The child goes on as a process of its own.
void at_fork(ForkStage stage);

}  // namespace acre::record
