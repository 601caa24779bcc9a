// Checks of wrong pointers, and the messages about them. Nothing here is on a hot path.
#pragma once

#include "slab/slab.h"

namespace acre::misuse {

// Whether this block of a slab run is free: uncut (slab/purge.h), or marked and on a list. Exact for a block that only the calling thread
// can allocate or free, and for a block whose free happened before this call.
bool is_free(Slab* slab, const void* block);

// Ends the program if this block of a slab run is free.
void check_live(const char* caller, Slab* slab, const void* p);

[[noreturn]] void double_free(const char* caller, const void* p, size_t bytes);

// For a block that is freed with an alignment that it does not have.
[[noreturn]] void wrong_alignment(const char* caller, const void* p, size_t alignment);

// Says which sizes a block has that is freed with another size, or at another alignment.
[[noreturn]] void wrong_size(const char* caller, const void* p, size_t n, size_t alignment, size_t least, size_t most);

// Whether p lies in no run that acre has now.
bool is_foreign(const void* p);

// Says why p is not the start of a live block, and ends the program. from: the code that passed p; null: unknown.
[[noreturn]] void not_a_block(const char* caller, const void* p, const void* from = nullptr);

}  // namespace acre::misuse
