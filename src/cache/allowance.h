// The bound on what threads keep beyond their current runs. For a heap's owner, or for a thread that reclaims from the heap.
#pragma once

#include "cache/heap.h"

namespace acre {

// The heap may keep a step more of pages. False: the bound is reached.
bool extend_allowance(Heap& heap);

// Gives back what the heap has of the bound and does not need; all of it.
void trim_allowance(Heap& heap);
void give_up_allowance(Heap& heap);

// The bound in bytes, and how much of it no heap has yet.
size_t shared_allowance();
size_t shared_allowance_left();

// After a fork, in the child: the pages that the heaps there may keep.
void reset_shared_allowance(size_t pages);

}  // namespace acre
