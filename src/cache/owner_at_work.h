// The owner's half of the protocol by which other threads reclaim what an idle thread's cache keeps (reclaim/idle.h).
#pragma once

#include "cache/heap.h"

namespace acre {

// While it exists, the calling thread changes its heap's run lists or its outbox, and no other thread reclaims from them. Not
// nested. It costs two stores and a load, no atomic operation.
class OwnerAtWork {
 public:
  explicit OwnerAtWork(Heap& heap) : heap_(heap) {
    if (ACRE_UNLIKELY(!enter_quickly(heap))) refuse_reclaim(heap);
  }
  ~OwnerAtWork() { leave(heap_); }

  // The same for code that must call no function. False: a reclaim was announced or is under way. leave() has to follow in
  // either case.
  static bool enter_quickly(Heap& heap) {
    heap.inside.store(1, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return heap.reclaim.load(std::memory_order_acquire) == Reclaim::kNone;
  }
  static void leave(Heap& heap) { heap.inside.store(0, std::memory_order_release); }

  OwnerAtWork(const OwnerAtWork&) = delete;
  OwnerAtWork& operator=(const OwnerAtWork&) = delete;

 private:
  // Withdraws a reclaim that was announced; waits for the end of one that is under way (registry.cc).
  static void refuse_reclaim(Heap& heap);

  Heap& heap_;
};

}  // namespace acre
