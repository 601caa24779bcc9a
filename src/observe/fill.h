// Filling blocks: the options junk and zero, and the clearing that the leak checker needs.
//
// While junk or zero is set, no thread has a heap of its own. Each allocation borrows a fallback heap
// (cache/registry.h), and each free is that of a thread without a heap. So private lists are always empty, all calls
// take the slow path, and the hot paths do not know about it.
#pragma once

#include "cache/upcalls.h"

namespace acre::fill {

// Called once, when the options have been read.
void start();

// From now on blocks that the sampler sees, and large blocks, come out zeroed (cache/upcalls.h). Called once, by the
// leak checker before the sampler starts.
void clear_sampled();

}  // namespace acre::fill
