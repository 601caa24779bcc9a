// What each thread's cache holds.
#pragma once

#include "base/thread_token.h"

namespace acre {

// Bytes of free blocks.
struct ThreadCache {
  ThreadToken owner = kNoThread;  // of the runs; kNoThread: an empty place in the table
  uint32_t thread = 0;            // its number in the kernel
  uint32_t arena = 0;
  uint64_t private_lists = 0;
  uint64_t deferred = 0;          // in runs that the thread owns, freed by it or by others
  uint64_t uncarved = 0;          // in these runs, never handed out
  uint64_t outboxes = 0;          // on their way to other threads' runs
};

// A hash table by owner, of 1024 threads at most.
class ThreadCaches {
 public:
  static constexpr unsigned kMost = 1024;

  // Takes figures of now; other threads go on. For one thread at a time, which needs no lock.
  void gather();

  // How many threads beyond kMost have caches, too.
  uint64_t left_out() const { return left_out_; }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const ThreadCache& cache : table_) {
      if (cache.owner != kNoThread) visit(cache);
    }
  }

 private:
  static constexpr unsigned kPlacesLog2 = 11;

  ThreadCache* place_of(ThreadToken owner);
  void add_runs();

  ThreadCache table_[size_t{1} << kPlacesLog2] = {};
  unsigned count_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace acre
