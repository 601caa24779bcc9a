// Blocks with requests beyond their size: alignment, zeroes, a certain arena, no moving. What jemalloc's mallocx,
// rallocx and xallocx ask for. All bytes of a block count, not only those that were asked for: what is zeroed is
// zeroed to its end, so that it may grow zeroed, too.
#pragma once

#include <cstddef>

namespace acre::request {

inline constexpr unsigned kAnyArena = ~0u;

struct Request {
  size_t alignment = 1;          // a power of two
  bool zeroed = false;           // of a block that exists: what is added to it
  unsigned arena = kAnyArena;    // its index; of a block that exists: if it moves
};

// Bytes of the block that allocate() gives; 0: none are so large, or so aligned.
size_t block_bytes(size_t n, size_t alignment);

// Null and ENOMEM on failure, and if there can be no such arena.
void* allocate(size_t n, const Request& request);

// As realloc of a live block; n is not 0. caller: for the message if p is none.
void* reallocate(void* p, size_t n, const Request& request, const char* caller);

// Makes a live block `most` bytes long, or at least `least`, where it is, if that can be done. Only large blocks change
// their length, and stay large. Returns what it has now.
size_t resize_in_place(void* p, size_t least, size_t most, const Request& request, const char* caller);

}  // namespace acre::request
