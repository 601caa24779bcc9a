// An arena's set of runs of one size class that nobody owns and that have blocks to give, lowest address
// first.
#pragma once

#include "base/atomics.h"
#include "base/mutex.h"
#include "base/pairing_heap.h"
#include "slab/slab.h"

namespace acre {

class Bin {
 public:
  // Puts a run there whose word the caller has just made kBinned. If all its blocks are free by now, the
  // caller gets it back (true) to return its pages.
  [[nodiscard]] bool offer(Slab* slab);

  // Called by a thread that has just seen all blocks of a kBinned run free. True: the run is the caller's,
  // to return its pages. False: somebody else has taken it or will see to it. The header may be another run's by now.
  [[nodiscard]] bool reclaim(Slab* slab);

  // The lowest run, now held by the calling thread, and owned by it unless it is shared (slab::harvest). Null if the
  // bin is empty.
  Slab* take(ThreadToken owner);

  // For common classes: a block of the lowest run, which stays where it is until it has no more to give. Null if the bin
  // is empty.
  void* take_block();

  // Where the lowest run begins; 0 if the bin is empty.
  Address lowest();

  // Forgets all runs. For an arena that is reset (heap/explicit.h).
  void clear();

  bool seems_empty() const { return relaxed_load(count_) == 0; }
  uint32_t count() const { return relaxed_load(count_); }
  LockCounts lock_counts() const { return lock_.counts(); }

  void before_fork() { lock_.before_fork(); }
  void after_fork_in_parent() { lock_.after_fork_in_parent(); }
  void after_fork_in_child() { lock_.after_fork_in_child(); }

 private:
  void insert(Slab* slab) ACRE_REQUIRES(lock_);
  void remove(Slab* slab) ACRE_REQUIRES(lock_);
  bool take_if_all_free(Slab* slab) ACRE_REQUIRES(lock_);

  Mutex lock_{Rank::kBin};
  uint32_t count_ = 0;
  PairingHeap<Slab, LowerAddress> runs_ ACRE_GUARDED_BY(lock_);
};

}  // namespace acre
