// Filling blocks: the options junk and zero.
//
// While one of them is set, no thread has a heap of its own: each allocation borrows one of those that threads at
// their end share (registry.h), and each free is that of a thread without a heap. So private lists are always
// empty, all goes through the slow door, and the hot paths know nothing of it.
#pragma once

#include <cstddef>

namespace acre::fill {

// Whether blocks are filled. Fixed once the options are read.
bool is_on();

// The bytes [from, to) of a block are new to the program. zeroed: they are known to be zero.
void new_bytes(void* block, size_t from, size_t to, bool zeroed);

// The program has freed bytes [from, to) of a block.
void freed_bytes(void* block, size_t from, size_t to);

}  // namespace acre::fill
