// The runs of one size class in an arena that no thread owns and of which enough blocks are free, lowest address first.
#pragma once

#include "base/mutex.h"
#include "slab/free_list.h"
#include "slab/word.h"

namespace acre {

// One cache line, so that a use of the bin moves one between processors, and none of another bin.
class alignas(kCacheLine) Bin {
 public:
  // Adds a run whose word the caller has just made binned. Returns true if all its blocks are free by now: the run is
  // the caller's again, which returns its pages.
  [[nodiscard]] bool offer(Slab* slab);

  // Called by a thread that has just seen all blocks of a binned run free. True: the run is the caller's, which returns
  // its pages. False: another thread has taken the run, or returns it. The header may be another run's by now.
  [[nodiscard]] bool reclaim(Slab* slab);

  // Takes the lowest run for `owner`, the calling thread; or, if the run is shared, up to `most` of its blocks. Neither
  // if the bin is empty.
  struct Taken {
    Slab* run = nullptr;
    BlockList blocks;
    explicit operator bool() const { return run != nullptr || blocks; }
  };
  Taken take(Owner owner, uint32_t most);

  // Takes this run, of which the calling thread has a block, for `owner`. Returns false if it is not in the bin, or is
  // shared.
  bool take_this(Slab* slab, Owner owner);

  // Takes up to `most` blocks of the lowest run, which stays while enough of it is free. None if the bin is empty.
  BlockList take_blocks(uint32_t most);

  // Takes the run out of this bin for slab::purge() (purge.h), if its word has not changed for half of the arena's decay
  // time, by the looks of such calls; or at once, if now_ms is kNever. Then the caller puts it back by offer(). A run
  // whose word is as after its last purge is not taken, nor one of a manual arena: a reset would have to wait.
  enum class Quiet : uint8_t { kNot, kNotYet, kTaken };
  Quiet take_quiet(Slab* slab, uint64_t now_ms);

  // Bits of the run's pages on which a live block lies. Returns false if the run is not in this bin.
  bool find_live_pages(const Slab* slab, uint64_t* pages);

  // The address of the lowest run; 0 if the bin is empty.
  Address lowest();

  // Forgets all runs, for an arena that is reset (manual/manual_arena.h).
  void clear();

  bool seems_empty() const { return relaxed_load(count_) == 0; }
  uint32_t count() const { return relaxed_load(count_); }
  LockCounts lock_counts() const { return lock_.counts(); }

  void at_fork(ForkStage stage) { lock_.at_fork(stage); }

 private:
  void insert(Slab* slab) ACRE_REQUIRES(lock_);
  void insert_again(Slab* slab) ACRE_REQUIRES(lock_);
  void remove(Slab* slab) ACRE_REQUIRES(lock_);
  void take_out(Slab* slab, RemoteWord word, Owner owner) ACRE_REQUIRES(lock_);
  bool keep_if_binned(Slab* slab, uint64_t bits, bool is_here) ACRE_REQUIRES(lock_);
  bool take_if_all_free(Slab* slab) ACRE_REQUIRES(lock_);
  static bool is_quiet(const Slab* slab, uint64_t now_ms);
  BlockList take_blocks_of(Slab* slab, uint32_t most) ACRE_REQUIRES(lock_);
  BlockList take_listed(Slab* slab, uint64_t bits, uint32_t most) ACRE_REQUIRES(lock_);
  BlockList take_of_purged(Slab* slab, uint64_t bits, uint32_t most) ACRE_REQUIRES(lock_);
  BlockList take_local(Slab* slab, uint64_t bits, uint32_t most) ACRE_REQUIRES(lock_);

  [[no_unique_address]] Mutex lock_{Rank::kBin};
  uint32_t count_ = 0;
  PairingHeap<Slab, LowerAddress> runs_ ACRE_GUARDED_BY(lock_);
};
static_assert(ACRE_DEBUG || sizeof(Bin) == kCacheLine);

}  // namespace acre
