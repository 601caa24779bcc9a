// The caller of malloc, for stack capture (sample/capture.cc).
#pragma once

#include "cache/heap.h"

namespace acre {

// Sets HeapState::caller while a block is sampled or reported. caller: the return address of a function that malloc
// reaches by jumps, so it is malloc's. If acre calls that function, as for operator new, or in a build without tail calls,
// the address is in acre's own code.
class KnownCaller {
 public:
  KnownCaller(Heap* heap, const void* caller) : heap_(heap) {
    if (heap_ == nullptr) return;
    before_ = heap_->caller;
    heap_->caller = address_of(caller);
  }
  ~KnownCaller() {
    if (heap_ != nullptr) heap_->caller = before_;
  }

 private:
  Heap* heap_;  // null: the thread has none
  Address before_ = 0;
};

}  // namespace acre
