// Functions of the program that are called for each allocation and each free, as TCMalloc's MallocHook has them.
//
// While there is a hook, threads' heaps are observed (HeapKind in cache/heap.h): each malloc and each free takes the slow
// path, where the hooks are called, and a free is seen there whenever the block was allocated. The heap of the thread that
// adds the first hook is observed at once, and that of a new thread from its start. Other threads' heaps are observed from
// the next time that they take the slow path of malloc for a small block, or end a free on the slow path
// (tick_after_free). The hot paths do not know about hooks, and the slow path makes no further check: a hook makes
// sampler::is_on() true (sampler.h).
#pragma once

#include <cstddef>

#include "base/mutex.h"
#include "base/atomics.h"
#include "cache/upcalls.h"

namespace acre::hooks {

// Called with no lock held; may allocate and free, and is called for that, too. bytes: of the block.
using AllocatedHook = void (*)(const void* block, size_t bytes);
using FreeingHook = void (*)(const void* block);  // the block is still the program's

inline constexpr unsigned kMost = 7;  // of each kind

// False: hook is null; add: there are kMost already; remove: it is not there. A hook may be added several times.
bool add(AllocatedHook hook);
bool add(FreeingHook hook);
bool remove(AllocatedHook hook);
bool remove(FreeingHook hook);

// Whether there is a trace (trace.h), which is called before all hooks. on: only while no thread has allocated yet.
void set_traced(bool on);

// Starts a recording (record/record.h), which sees what hooks see. before_events: is called between. Returns 0 or an error
// number.
int start_recording(const char* place, void (*before_events)() = nullptr);

void at_fork(ForkStage stage);

}  // namespace acre::hooks
