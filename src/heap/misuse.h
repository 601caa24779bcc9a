// What to say about a pointer that is not what the program takes it for. Nothing here is on a hot path.
#pragma once

#include "slab/slab.h"

namespace acre::misuse {

// Is this marked block of a slab run on any list of free blocks? Exact for what the calling thread and no one
// else can change, and for anything the program freed before, in its own order.
bool is_free(Slab* slab, const void* block);

[[noreturn]] void double_free(const char* caller, const void* p, size_t bytes);

// p is no live block's start: finds out why, and says so.
[[noreturn]] void not_a_block(const char* caller, const void* p);

}  // namespace acre::misuse
