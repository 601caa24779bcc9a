// Who allocates, for those who must know it before they look at the stack (sample/capture.h).
#pragma once

#include "cache/heap.h"

namespace acre {

// Notes it in the heap for the time of an allocation that is sampled or reported. caller: the return address of a function
// that malloc leads to by jumps, so that it is the program's. It is in acre's own code where something else calls that
// function, such as operator new, or where the compiler was told to make no jumps.
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
  Heap* heap_;  // null: the thread has none, and nothing is noted
  Address before_ = 0;
};

}  // namespace acre
