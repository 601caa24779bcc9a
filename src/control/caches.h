// jemalloc's explicit thread caches, which a program creates and names to mallocx and dallocx.
//
// acre's threads keep runs, not caches of blocks, so such a cache holds nothing: what is allocated and freed through it
// goes through the calling thread's own heap. What there is of it is its identifier, which is valid from create() to
// destroy().
#pragma once

namespace acre::ctl::caches {

inline constexpr unsigned kMost = 4093;  // identifiers that MALLOCX_TCACHE has bits for

// A new identifier, the smallest that is free. *error: EAGAIN if all are in use.
unsigned create(int* error);

// Gives up what the calling thread keeps. 0, or EFAULT: there is no such cache.
int flush(unsigned cache);

// The same, and the identifier is free again.
int destroy(unsigned cache);

}  // namespace acre::ctl::caches
