// The calling thread's heap, for the tests.
#pragma once

#include <chrono>
#include <thread>

#include "acre/acre.h"
#include "base/units.h"
#include "cache/lookup.h"
#include "os/os.h"
#include "reclaim/idle.h"

namespace acre::test {

inline Heap& my_heap() {
  acre_free(acre_malloc(1));
  return *heap_if_any();
}

// The run that a small block lies in.
inline Slab* slab_of(const void* block) { return find_block(block).slab; }

// Before each look at idle heaps: one that comes too soon after another does nothing (reclaim/idle.cc).
inline void wait_between_looks() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

// The time for such a look. It goes on from test to test, and is the tests' own, but for what two looks are apart at least.
inline uint64_t next_second() {
  static uint64_t now = 0;
  wait_between_looks();
  return now = larger(now, os::now_ms()) + 1000;
}

// All steps of a look. heap: the caller's, or null.
inline idle::Look look_at_all(const Heap* heap) {
  const uint64_t now = next_second();
  idle::Look look;
  do look = idle::look_around(heap, now);
  while (look == idle::Look::kNotDone);
  return look;
}

}  // namespace acre::test
