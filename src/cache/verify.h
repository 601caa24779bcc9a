// Looks through what the calling thread's heap keeps, and changes nothing but counts.
#pragma once

#include "cache/heap.h"

namespace acre {

// Blocks on the class's private list; kBroken if the list was overwritten. heap: the calling thread's.
inline constexpr uint32_t kBroken = UINT32_MAX;
uint32_t private_list_length(const Heap& heap, SizeClass c);

// Whether all lists of free blocks that the calling thread can reach are whole: its private lists, and in the runs that
// it owns the deferred and the remote list, whose lengths have to fit the runs' counts.
bool lists_are_whole(Heap& heap);

}  // namespace acre
