// The operators that the standard defines by other operators ([new.delete]): operator new[](n) calls operator new(n),
// operator delete(p, n) calls operator delete(p), and so on. Here they go to the heap directly, as malloc and free do,
// unless the program has replaced one of the others: then they call it.
//
// A check for that would cost each call two instructions. So these operators compare and look up by variables of their
// own, whose values send every call to the slow path until start() has found that no operator is replaced.
#pragma once

#include "cache/free.h"
#include "cache/malloc.h"

namespace acre::direct {

extern constinit size_t g_sizes ACRE_HIDDEN;  // requests of this size or more take the slow path: kTableMax + 1, or 0
// Functions that return null until start() has found no operator replaced, then allocate_slow and allocate_aligned.
using AllocateSlow = void*(size_t n);
using AllocateAligned = void*(size_t n, size_t alignment);
extern constinit AllocateSlow* g_allocate_slow ACRE_HIDDEN;
extern constinit AllocateAligned* g_allocate_aligned ACRE_HIDDEN;

// False before start(), too: it is not known then which operators are replaced.
ACRE_ALWAYS_INLINE bool is_on() { return g_sizes != 0; }

// slow(n) is allocate_slow(n), or calls the program's operator.
template <class Slow>
ACRE_ALWAYS_INLINE void* allocate(size_t n, Slow slow) {
  return allocate_or(n >= g_sizes, n, slow);
}

// slow(p) is release_slow(p), or calls the program's operator.
template <class Slow, class Fits = AnySize>
ACRE_ALWAYS_INLINE void release(void* p, Slow slow, void (*elsewhere)(Slab*, void*) = release_elsewhere, Fits fits = {}) {
  release_at(unit_table::at_gated(p), p, slow, elsewhere, fits);
}

// Called at start-up, after unit_table::initialise() and before any memory is obtained.
void start();

}  // namespace acre::direct
