// Chunks: the address space of arenas, in multiples of huge pages. Nearly all come from one *window* of addresses,
// which acre fills from its low end. So chunks are neighbours, and a slab run is found by its place in the window
// (slab/unit_table.h). If address space is short or the window is full, chunks come from anywhere.
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

// Neither a run nor a chunk crosses a multiple of this. Free neighbours are joined, so this bounds their length.
inline constexpr Address kRunReach = Address{1} << 32;
inline bool crosses_reach(Address start, size_t bytes) { return start / kRunReach != (start + bytes - 1) / kRunReach; }
inline constexpr size_t kMostChunk = size_t{1} << 30;

// Places the window. start: a multiple of kHugePageBytes. Called once, before anything else; otherwise there is no window.
void place(Address start, size_t bytes);

Address start();
size_t bytes();
size_t used_bytes();    // handed out, from the start on
inline bool contains(Address a) { return a - start() < bytes(); }

// Zeroed address space with page map entries, within one kRunReach. bytes: up to kMostChunk, rounded up to huge pages.
// An arena keeps its chunks and purges their memory, except in unmap.cc and reset.cc.
Chunk allocate(size_t bytes);

// Unmaps a chunk that belongs to no arena, or whole pages of one.
void release(const Chunk& chunk);

size_t mapped_bytes();  // of all chunks

LockCounts lock_counts();

void at_fork(ForkStage stage);

}  // namespace acre::window
