// Memory for acre's own structures. Memory from allocate() never goes back to the OS; its users keep lists of what they
// no longer need. Memory from allocate_pages() can go back: it is for structures that are many at one time and few
// later, such as manual arenas (manual/manual_arena.h). Its addresses are kept for the next ones.
#pragma once

#include <cstddef>

#include "base/mutex.h"
#include "base/units.h"

namespace acre::metadata {

// Zeroed memory, aligned to a cache line. Null when the OS refuses.
void* allocate(size_t bytes);

// Zeroed whole pages of the system. Null when the OS refuses. A process may use kPageKinds sizes: name a constant.
void* allocate_pages(size_t bytes);
inline constexpr unsigned kPageKinds = 4;

// Gives back one allocate_pages(bytes). Until it is used again it reads as zeroes, also through a stale pointer.
void give_back_pages(void* memory, size_t bytes);

// All memory that was mapped for metadata. Takes no lock.
void for_each_region(void (*visit)(Address start, size_t bytes, void* argument), void* argument);

size_t mapped_bytes();
size_t allocated_bytes();
LockCounts lock_counts();

void at_fork(ForkStage stage);

}  // namespace acre::metadata
