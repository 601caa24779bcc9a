// The bound on the pages that all threads together keep beyond their current runs. Functions with a heap are for the
// heap's owner, or for a thread that reclaims from it.
#pragma once

#include "cache/heap.h"

namespace acre {

// Lets the heap keep one more step of pages. Returns false if the bound is reached.
bool extend_allowance(Heap& heap);

// trim_allowance gives back the part of the heap's allowance that the heap does not need, give_up_allowance all of it.
void trim_allowance(Heap& heap);
void give_up_allowance(Heap& heap);

// The bound, and the part of it that no heap has. In bytes.
size_t shared_allowance();
size_t shared_allowance_left();

// For the child of a fork: sets the pages of allowance that heaps have.
void reset_shared_allowance(size_t pages);

}  // namespace acre
