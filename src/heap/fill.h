// Filling blocks: the options junk and zero.
//
// While one of them is set, no thread has a heap of its own: each allocation borrows one of those that threads at
// their end share (registry.h), and each free is that of a thread without a heap. So private lists are always
// empty, all goes through the slow door, and the hot paths know nothing of it.
#pragma once

#include <cstddef>

#include "base/compiler.h"

namespace acre::fill {

// Once, when the options have been read.
void start();

// Whether blocks are filled.
extern bool g_on ACRE_HIDDEN;
inline bool is_on() { return g_on; }

// While blocks are filled: the bytes [from, to) of a block are new to the program. zeroed: they are known to be zero.
void new_bytes(void* block, size_t from, size_t to, bool zeroed);

// While blocks are filled: the program has freed a block.
void freed_block(void* block, size_t bytes);

}  // namespace acre::fill
