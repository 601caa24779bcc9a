// The owner's side of the protocol by which other threads reclaim from an idle thread's cache (reclaim/idle.h).
#pragma once

#include "cache/heap.h"

namespace acre {

// While the object exists, the calling thread may change its heap's run lists and outbox, and no other thread reclaims
// from them. Not nested. It costs two stores and a load, and no atomic read-modify-write operation.
class OwnerAtWork {
 public:
  explicit OwnerAtWork(Heap& heap) : heap_(heap) {
    if (ACRE_UNLIKELY(!enter_quickly(heap))) refuse_reclaim(heap);
  }
  ~OwnerAtWork() { leave(heap_); }

  // For code that must call no function. False: a reclaim is announced or under way. leave() follows in either case.
  static bool enter_quickly(Heap& heap) {
    heap.inside.store(1, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return heap.reclaim.load(std::memory_order_acquire) == Reclaim::kNone;
  }
  // Whether the calling thread changes its run lists or its outbox, as while its heap grows by a run.
  static bool is_this_thread() {
    const Heap* heap = heap_if_any();
    return heap != nullptr && heap->inside.load(std::memory_order_relaxed) != 0;
  }
  static void leave(Heap& heap) { heap.inside.store(0, std::memory_order_release); }

  OwnerAtWork(const OwnerAtWork&) = delete;
  OwnerAtWork& operator=(const OwnerAtWork&) = delete;

 private:
  // Withdraws an announced reclaim, or waits for the end of one that is under way (registry.cc).
  static void refuse_reclaim(Heap& heap);

  Heap& heap_;
};

// While the object exists, a thread that changes its run lists just now allocates as one that has ended: from other heaps.
// For calls that may allocate in the midst of a change, such as the C++ unwinder's.
class AllocatingElsewhere {
 public:
  AllocatingElsewhere() : mine_(t_heap) {
    if (OwnerAtWork::is_this_thread()) t_heap = const_cast<HotHeap*>(&kTerminatedHeap);
  }
  ~AllocatingElsewhere() { t_heap = mine_; }

  AllocatingElsewhere(const AllocatingElsewhere&) = delete;
  AllocatingElsewhere& operator=(const AllocatingElsewhere&) = delete;

 private:
  HotHeap* const mine_;
};

}  // namespace acre
