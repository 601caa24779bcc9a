// Filling blocks: the options junk and zero.
//
// While one of them is set, no thread has a heap of its own: each allocation borrows one of those that threads at
// their end share (registry.h), and each free is that of a thread without a heap. So private lists are always
// empty, all goes through the slow path, and the hot paths know nothing of it.
#pragma once

#include "cache/upcalls.h"

namespace acre::fill {

// Once, when the options have been read.
void start();

}  // namespace acre::fill
