// jemalloc's explicit thread caches, which a program creates and names to mallocx and dallocx.
//
// acre's threads keep runs, not caches of blocks, so such a cache holds nothing. Allocations and frees through it use
// the calling thread's own heap. The cache is only an identifier, valid from create() to destroy().
#pragma once

#include "control/nodes.h"

namespace acre::ctl::caches {

inline constexpr unsigned kMost = 4093;  // as many as MALLOCX_TCACHE has bits for

Handler create;   // the smallest free identifier. EAGAIN: all are in use
Handler flush;    // gives up what the calling thread keeps. EFAULT: there is no such cache
Handler destroy;  // the same, and frees the identifier

}  // namespace acre::ctl::caches
