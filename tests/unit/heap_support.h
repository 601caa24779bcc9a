// The calling thread's heap, for the tests.
#pragma once

#include "acre/acre.h"
#include "heap/lookup.h"

namespace acre::test {

inline Heap& my_heap() {
  acre_free(acre_malloc(1));
  return *heap_if_any();
}

// The run that a small block lies in.
inline Slab* slab_of(const void* block) { return find_block(block).slab; }

}  // namespace acre::test
