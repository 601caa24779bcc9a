// Memory for acre's own structures. It never goes back to the OS; users of it keep what they no longer need
// on lists of their own.
#pragma once

#include <cstddef>

#include "base/mutex.h"
#include "base/units.h"

namespace acre::metadata {

// Zeroed memory, aligned to a cache line. Null when the OS refuses.
void* allocate(size_t bytes);

// All memory that was mapped for it; takes no lock.
void for_each_region(void (*visit)(Address start, size_t bytes, void* argument), void* argument);

size_t mapped_bytes();
size_t allocated_bytes();
LockCounts lock_counts();

void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

}  // namespace acre::metadata
