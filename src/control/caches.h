// jemalloc's explicit thread caches, which a program creates and names to mallocx and dallocx.
//
// acre's threads keep runs, not caches of blocks, so such a cache holds nothing. Allocations and frees through it use
// the calling thread's own heap. The cache is only an identifier, valid from create() to destroy().
#pragma once

namespace acre::ctl::caches {

inline constexpr unsigned kMost = 4093;  // as many as MALLOCX_TCACHE has bits for

// Returns the smallest free identifier. *error: EAGAIN if all are in use.
unsigned create(int* error);

// Gives up what the calling thread keeps. Returns 0, or EFAULT if there is no such cache.
int flush(unsigned cache);

// The same, and frees the identifier.
int destroy(unsigned cache);

}  // namespace acre::ctl::caches
