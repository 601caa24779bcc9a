// Chunks: where arenas get address space from, in multiples of huge pages.
//
// Nearly all of them come from one *window* of addresses, which acre fills from its low end, so that chunks
// are neighbours and slab runs can be found by their place in the window (slab/unit_table.h). When address
// space is short, or the window is full, chunks come from anywhere.
#pragma once

#include <cstddef>

#include "base/mutex.h"
#include "base/units.h"

namespace acre::window {

struct Chunk {
  Address start = 0;  // 0: refused
  size_t bytes = 0;
  bool zeroed = true;
};

// Slab runs hold links of 32 bits, so no run crosses a multiple of this; nor does a chunk.
inline constexpr Address kLinkReach = Address{1} << 32;
inline constexpr size_t kMostChunk = size_t{1} << 30;

// Places the window just below `below`; bytes: its size, a power of two to whose multiple it is aligned.
// Once, before anything else; without it there is no window.
void place(Address below, size_t bytes);

Address start();
size_t bytes();
size_t used_bytes();    // from the start
inline bool contains(Address a) { return a - start() < bytes(); }

// Zeroed address space with page map entries, within one kLinkReach. bytes: up to kMostChunk, rounded up to
// huge pages. Chunks stay with the arena, and their memory is purged; but see unmap.cc.
Chunk allocate(size_t bytes);

// Unmaps a chunk that is no arena's (any more), or a part of one, in whole pages.
void release(const Chunk& chunk);

size_t mapped_bytes();  // of all chunks there are

LockCounts lock_counts();

void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

}  // namespace acre::window
