// The operators that the standard builds on others ([new.delete]): operator new[](n) is operator new(n), operator
// delete(p, n) is operator delete(p), and so on. They go to the heap directly, as malloc and free do, unless the
// program has replaced one of those others: then they call it.
//
// Asking would cost each call two instructions. So they compare and look up by variables of their own, which make
// every block one for the slow path until start() has found nothing replaced.
#pragma once

#include "cache/free.h"
#include "cache/malloc.h"

namespace acre::direct {

extern constinit size_t g_sizes ACRE_HIDDEN;  // kTableMax + 1, or 0: sizes from here on are for the slow path
// allocate_slow and allocate_aligned; or functions that return null.
using AllocateSlow = void*(size_t n);
using AllocateAligned = void*(size_t n, size_t alignment);
extern constinit AllocateSlow* g_allocate_slow ACRE_HIDDEN;
extern constinit AllocateAligned* g_allocate_aligned ACRE_HIDDEN;

// False before start(), too: what is replaced is not known then.
ACRE_ALWAYS_INLINE bool is_on() { return g_sizes != 0; }

// slow(n): allocate_slow, or the operator that has to be called.
template <class Slow>
ACRE_ALWAYS_INLINE void* allocate(size_t n, Slow slow) {
  return allocate_or(n >= g_sizes, n, slow);
}

// slow(p): release_slow, or the operator that has to be called.
template <class Slow>
ACRE_ALWAYS_INLINE void release(void* p, Slow slow) {
  release_at(unit_table::at_gated(p), p, slow);
}

// At start-up, after unit_table::initialise(), before any memory is obtained.
void start();

}  // namespace acre::direct
