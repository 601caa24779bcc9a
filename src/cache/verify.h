// Checks the lists of free blocks that the calling thread can reach. Changes nothing but counts.
#pragma once

#include "cache/heap.h"

namespace acre {

// Blocks on the class's private list; kBroken if the list was overwritten. heap: the calling thread's.
inline constexpr uint32_t kBroken = UINT32_MAX;
uint32_t private_list_length(const Heap& heap, SizeClass c);

// Whether all these lists are whole: the heap's private lists, and the deferred and remote lists of the runs that the
// thread owns, whose lengths have to fit the runs' counts.
bool lists_are_whole(Heap& heap);

}  // namespace acre
