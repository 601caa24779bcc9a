// Requests beyond a size: alignment, zeroes, a certain arena, no move. They serve jemalloc's mallocx, rallocx and
// xallocx. All bytes of a block count, not only those asked for: a zeroed block is zero to its end, and when it grows.
#pragma once

#include <cstddef>

namespace acre::request {

inline constexpr unsigned kAnyArena = ~0u;

struct Request {
  size_t alignment = 1;          // a power of two
  bool zeroed = false;           // for a block that exists: the bytes added to it
  unsigned arena = kAnyArena;    // its index; for a block that exists: if it moves
};

// Bytes of the block that allocate() returns; 0: no block is so large, or so aligned.
size_t block_bytes(size_t n, size_t alignment);

// Null and ENOMEM on failure, or if there can be no such arena.
void* allocate(size_t n, const Request& request);

// Like realloc of a live block; n is not 0. caller: named in the message if p is no block.
void* reallocate(void* p, size_t n, const Request& request, const char* caller);

// Makes a live block `most` bytes long without moving it, or at least `least`, if that can be done. Only large blocks
// change their length, and they stay large. Returns the block's bytes afterwards.
size_t resize_in_place(void* p, size_t least, size_t most, const Request& request, const char* caller);

// Like free, but the block does not stay on a list of the thread's: it goes back to its run at once, so that the next
// block of its size may come from a fuller run.
void release_uncached(void* p);

}  // namespace acre::request
