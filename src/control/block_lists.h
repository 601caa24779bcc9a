// What the heap consists of, block sizes and free lists, for those that ask in TCMalloc's terms (acre/tcmalloc.h).
//
// As with statistics nobody is stopped: each figure is right at some time during the call. All functions may be called
// from any thread, but not from signal handlers, and allocate no blocks. Callbacks may allocate and free. Where memory for
// statistics is refused, there are no block sizes and no free lists.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acre::block_lists {

// Bytes of free blocks that the calling thread can hand out by itself: on its private lists, and in the runs that it
// owns. 0 if it has no heap.
size_t thread_cache_bytes();

inline constexpr unsigned kHistogramSize = 64;
struct BlockSizes {
  size_t blocks = 0;
  size_t bytes = 0;
  size_t by_size[kHistogramSize] = {};  // of blocks with bytes from 2^i to 2^(i+1) - 1
};
BlockSizes block_sizes();

// Free blocks by size class, those of threads and those that no thread owns, and free page runs by length, with memory
// and without; lists with nothing in them are left out. least, most: of the requests that a list can serve.
// type: TCMalloc's name for that kind of list.
using VisitList = void(void* opaque, size_t least, size_t most, size_t bytes, const char* type);
void free_lists(VisitList* visit, void* opaque);

enum class Kind { kInUse, kFree, kUnmapped };
// All runs of pages; fraction: how much of one in use is in live blocks.
using VisitRange = void(void* opaque, uintptr_t start, size_t bytes, Kind kind, double fraction);
void ranges(VisitRange* visit, void* opaque);

}  // namespace acre::block_lists
