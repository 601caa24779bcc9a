// The contents of the heap in TCMalloc's terms (acre/tcmalloc.h): block sizes, free lists, runs of pages.
//
// As with statistics, no thread is stopped: each figure is right at some time during the call. Any thread may call
// these functions, but no signal handler. They allocate no blocks; callbacks may allocate and free. If memory for
// statistics is refused, there are no block sizes and no free lists.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acre::block_lists {

// Returns the bytes of free blocks that the calling thread can hand out by itself: on its private lists, and in its
// runs. 0 if the thread has no heap.
size_t thread_cache_bytes();

inline constexpr unsigned kHistogramSize = 64;
struct BlockSizes {
  size_t blocks = 0;
  size_t bytes = 0;
  size_t by_size[kHistogramSize] = {};  // blocks of 2^i to 2^(i+1) - 1 bytes
};
BlockSizes block_sizes();

// Visits free blocks by size class, those of threads and those that no thread owns, and free page runs by length, with
// and without memory. Leaves out empty lists. least, most: the sizes of requests that a list can serve. type:
// TCMalloc's name for this kind of list.
using VisitList = void(void* opaque, size_t least, size_t most, size_t bytes, const char* type);
void free_lists(VisitList* visit, void* opaque);

enum Kind { kInUse, kFree, kUnmapped };
// Visits all runs of pages. fraction: how much of a run in use is in live blocks.
using VisitRange = void(void* opaque, uintptr_t start, size_t bytes, int kind, double fraction);
void ranges(VisitRange* visit, void* opaque);

}  // namespace acre::block_lists
