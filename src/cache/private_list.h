// The private list of a class: free blocks from which malloc takes the first. A thread that frees a block puts it on
// its private list, whatever run the block is of: malloc then returns the block that was freed last, while the
// processor's caches still hold it. Only the list's thread uses it. The runs count its blocks as used, and know nothing
// of them.
//
// free() puts no more blocks on a list that has as many as its bound (RunShape::most_listed), or on a *closed* one,
// whose bound is 0. They go to their runs then. A refill may put more on the list.
//
// malloc may take `left` blocks before it takes the slow path, which counts what was taken and freed until then. So a
// thread whose lists are never empty has slow-path events, too, and a block that is to be sampled (observe/sampler.h)
// is allocated there.
#pragma once

#include "cache/heap.h"
#include "cache/upcalls.h"

namespace acre::private_list {

inline constexpr int32_t kMostLeft = 1024;

inline uint32_t length(const Heap& heap, SizeClass c) {
  return static_cast<uint32_t>(heap.use(c).lists.bound - heap.slots[c].room);
}

// Counts the blocks that malloc took off the list, and free() put there, since the list was counted last.
void count(Heap& heap, SizeClass c);

// Counts the list, and lets malloc take so many blocks before it has to be counted again.
void count_and_let(Heap& heap, SizeClass c, int32_t left);

// Opens the list, or, as bound 0, closes it.
void set_bound(Heap& heap, SizeClass c, uint32_t bound);

// A refill has put so many blocks on the empty list. Counts the list, lets malloc take kMostLeft blocks, and opens the
// list, but for a heap whose frees are to be told.
void filled(Heap& heap, SizeClass c, uint32_t number);

// Empties and closes the list. Returns the blocks.
Link* take_all(Heap& heap, SizeClass c);

}  // namespace acre::private_list
