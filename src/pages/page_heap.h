// An arena's page runs: allocation by best fit at the lowest address, dirty memory before clean, coalescing
// in constant time through the page map, and the return of dirty pages to the OS by decay.
//
// Free runs are wholly dirty or wholly clean, and coalesce with neighbours of the same kind.
// Accounting (checked by the tests): pages obtained = pages in use + dirty + clean + pages being purged.
#pragma once

#include "base/mutex.h"
#include "pages/decay.h"
#include "pages/free_runs.h"
#include "pages/page_map.h"
#include "pages/run.h"

namespace acre {

struct PageCounts {
  size_t obtained = 0;  // from the window, ever
  size_t used = 0;
  size_t dirty = 0;
  size_t clean = 0;
  uint64_t purges = 0;  // madvise calls
  uint64_t purged = 0;  // pages
};

class PageHeap {
 public:
  // A run of this many pages whose base is a multiple of align_pages (a power of two), of kind kLarge, in
  // the page map at both ends; fresh says whether its memory is all zero. Null when memory is refused.
  // May call the OS.
  Run* allocate(size_t pages, size_t align_pages);

  // The same from free runs alone; null if there is none that fits.
  Run* allocate_free(size_t pages, size_t align_pages, bool dirty_only);

  // Turns a run just allocated into a slab run with this header: every page of it goes into the page map.
  void make_slab(Run* run, Slab* slab);

  // Gives a run back. touched: whether it may hold physical memory that it did not have when it was made.
  void free(Run* run, bool touched);

  // Grows a large run in place if the pages behind it are free. False: nothing has changed.
  bool grow_in_place(Run* run, size_t pages);

  // Gives the end of a large run back.
  void shrink_in_place(Run* run, size_t pages);

  // Purges what decay asks for by now. Called from allocation events.
  void decay(uint64_t now);

  // Purges dirty pages until at most `keep` are left; returns pages purged.
  size_t purge_to(size_t keep);

  void set_decay_time(int64_t ms);
  int64_t decay_time();
  PageCounts counts();
  // Readable at any time, of a recent moment.
  size_t dirty_pages() const { return __atomic_load_n(&dirty_hint_, __ATOMIC_RELAXED); }
  size_t used_pages() const { return __atomic_load_n(&used_hint_, __ATOMIC_RELAXED); }

  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  bool reserve_headers() ACRE_EXCLUDES(lock_);
  void count_used(size_t more, size_t less) ACRE_REQUIRES(lock_);
  Run* take_header() ACRE_REQUIRES(lock_);
  void drop_header(Run* run) ACRE_REQUIRES(lock_);

  Run* take_fit(size_t pages, size_t align_pages, bool dirty_only) ACRE_REQUIRES(lock_);
  Run* carve(Run* found, size_t lead, size_t pages) ACRE_REQUIRES(lock_);
  Run* split(Run* run, size_t pages) ACRE_REQUIRES(lock_);
  void insert_free(Run* run, bool dirty) ACRE_REQUIRES(lock_);
  void remove_free(Run* run) ACRE_REQUIRES(lock_);
  Run* free_neighbour(Address page, bool dirty) ACRE_REQUIRES(lock_);
  void link_youngest(Run* run) ACRE_REQUIRES(lock_);
  void unlink_age(Run* run) ACRE_REQUIRES(lock_);
  bool obtain_chunk(size_t pages, size_t align_pages);
  Run* take_oldest_dirty(size_t keep, size_t most) ACRE_REQUIRES(lock_);

  Mutex lock_{Rank::kPages};
  FreeRuns dirty_ ACRE_GUARDED_BY(lock_);
  FreeRuns clean_ ACRE_GUARDED_BY(lock_);
  Run* oldest_ ACRE_GUARDED_BY(lock_) = nullptr;
  Run* youngest_ ACRE_GUARDED_BY(lock_) = nullptr;
  Run* purging_ ACRE_GUARDED_BY(lock_) = nullptr;  // runs in the hands of purge_to, through node.next
  Run* headers_ ACRE_GUARDED_BY(lock_) = nullptr;  // spare headers, through node.next
  unsigned header_count_ ACRE_GUARDED_BY(lock_) = 0;
  size_t dirty_hint_ = 0;                          // dirty_.pages(), readable without the lock
  size_t used_hint_ = 0;                           // counts_.used, likewise
  Decay decay_ ACRE_GUARDED_BY(lock_);
  PageCounts counts_ ACRE_GUARDED_BY(lock_);
};

}  // namespace acre
