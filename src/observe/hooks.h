// Functions of the program's that are called for each allocation and each free, as TCMalloc's MallocHook has them.
//
// While there is one, threads go without their heaps, which are put aside (registry.h): so each malloc and each free
// takes the slow path, where the calls are, and free is seen there whenever the block was allocated. The thread that
// adds the first one goes so at once, one that begins later from its start, others when they next come to the slow path
// of malloc for a small block, or send off an outbox. The hot paths know nothing of it, and the slow path asks no question more: while there is a hook it is
// as if there was a sampler (sampler.h).
#pragma once

#include <cstddef>

#include "base/mutex.h"
#include "base/atomics.h"
#include "cache/upcalls.h"

namespace acre::hooks {

// Called with no lock held; may allocate and free, and is called for that, too. bytes: of the block.
using AllocatedHook = void (*)(const void* block, size_t bytes);
using FreeingHook = void (*)(const void* block);  // it is still the program's

inline constexpr unsigned kMost = 7;  // of each kind

// False: there are kMost already, or hook is null; it is not there. The same one may be added several times.
bool add(AllocatedHook hook);
bool add(FreeingHook hook);
bool remove(AllocatedHook hook);
bool remove(FreeingHook hook);

// Whether there is a trace (trace.h), which is told before all hooks. On: while no thread has allocated yet.
void set_traced(bool on);

void at_fork(ForkStage stage);

}  // namespace acre::hooks
