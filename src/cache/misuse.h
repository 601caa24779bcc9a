// What to say about a pointer that is not what the program takes it for. Nothing here is on a hot path.
#pragma once

#include "slab/slab.h"

namespace acre::misuse {

// Is this marked block of a slab run on any list of free blocks? Exact for what the calling thread and no one
// else can change, and for anything the program freed before, in its own order.
bool is_free(Slab* slab, const void* block);

[[noreturn]] void double_free(const char* caller, const void* p, size_t bytes);

// Whether p lies in no run that acre has now.
bool is_foreign(const void* p);

// p is no live block's start: finds out why, and says so. from: the code that p came from, for the message; null: unknown.
[[noreturn]] void not_a_block(const char* caller, const void* p, const void* from = nullptr);

}  // namespace acre::misuse
