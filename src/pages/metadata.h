// Memory for acre's own structures. What allocate() gives never goes back to the OS; its users keep what they no longer
// need on lists of their own. What allocate_pages() gives does: it is for structures of which many may live at the same time
// and few later on, as manual arenas (manual/manual_arena.h). Their address space stays, for the next ones.
#pragma once

#include <cstddef>

#include "base/mutex.h"
#include "base/units.h"

namespace acre::metadata {

// Zeroed memory, aligned to a cache line. Null when the OS refuses.
void* allocate(size_t bytes);

// Zeroed memory that begins at a page of the system. Null when the OS refuses. There may be few different sizes in a
// process, at most kPageKinds; so callers name a constant.
void* allocate_pages(size_t bytes);
inline constexpr unsigned kPageKinds = 4;

// Gives such memory back, all of it; bytes: as it was asked for. It can be read afterwards, as zeroes, until it is
// allocated again: a stale pointer into it leads to nothing else.
void give_back_pages(void* memory, size_t bytes);

// All memory that was mapped for it; takes no lock.
void for_each_region(void (*visit)(Address start, size_t bytes, void* argument), void* argument);

size_t mapped_bytes();
size_t allocated_bytes();
LockCounts lock_counts();

void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

}  // namespace acre::metadata
