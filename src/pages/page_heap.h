// An arena's page runs: allocation by best fit at the lowest address (dirty memory first, then muzzy, then clean),
// coalescing in constant time through the page map, and the return of dirty pages to the OS by decay (purge.cc).
//
// A free run is wholly dirty, muzzy or clean, and coalesces with neighbours of the same kind. Where no dirty run is long
// enough for a large block, neighbours of several kinds are joined (join.cc).
// Invariant, checked by the tests: pages obtained = pages in use + dirty + muzzy + clean + pages being purged.
#pragma once

#include <atomic>

#include "base/mutex.h"
#include "os/os.h"
#include "pages/decay.h"
#include "pages/free_runs.h"
#include "pages/huge_pages.h"
#include "pages/page_map.h"
#include "pages/run.h"
#include "pages/source.h"

namespace acre {

// If the OS page is larger than acre's, neighbours may share the pages at a run's ends: then these cannot be moved or
// unmapped alone.
inline bool has_whole_os_pages(const Run* run) { return is_aligned(run->base | run->bytes(), os::page_bytes()); }

// Purges of pages of one kind.
struct PurgeCounts {
  uint64_t sweeps = 0;  // calls of purge() that purged at least one page
  uint64_t calls = 0;   // of madvise, or of the arena's source
  uint64_t pages = 0;   // that hold less now: they became muzzy or clean

  void add(const PurgeCounts& other) {
    sweeps += other.sweeps;
    calls += other.calls;
    pages += other.pages;
  }
};

struct PageCounts {
  size_t obtained = 0;  // from the window, a source or a lender, and not given back
  size_t used = 0;
  size_t dirty = 0;
  size_t muzzy = 0;
  size_t clean = 0;
  size_t headers = 0;       // of runs, spare ones included
  size_t spare_headers = 0; // headers that describe no run now
  PurgeCounts from_dirty, from_muzzy;
  uint64_t purges = 0;      // calls of madvise or of the source
  uint64_t purged = 0;      // pages that became clean in these calls
  uint64_t made_muzzy = 0;  // pages

  void add_purges(const PageCounts& other) {
    from_dirty.add(other.from_dirty);
    from_muzzy.add(other.from_muzzy);
    purges += other.purges;
    purged += other.purged;
    made_muzzy += other.made_muzzy;
  }
};

class PageHeap {
 public:
  PageHeap() {}  // only in metadata, which is zeroed

  // An operation under the lock takes no more headers than this. A split takes one, a chunk one or two.
  static constexpr unsigned kHeadersPerOperation = 4;

  // Returns a run of this many pages, of kind kLarge, with both ends in the page map. Its base is a multiple of
  // align_pages (a power of two). run->fresh: its memory is all zero. Null: the OS or a limit refuses. May call the OS.
  Run* allocate(size_t pages, size_t align_pages);

  // The same from free runs alone.
  Run* allocate_free(size_t pages, size_t align_pages, bool dirty_only);

  // The same from free neighbours that hold different things, at most half of it clean (join.cc). run->fresh is false.
  // clean: pages that were clean. Returns null if there are no such neighbours, as is usual.
  Run* allocate_joined(size_t pages, size_t* clean);

  // The same from free runs of the window, where a slab run's header needs no memory. Looks at a few of the longest.
  Run* allocate_in_window(size_t pages, size_t align_pages);

  // Cuts a large run, which the calling thread alone has, in two after so many pages. Returns the second, which is in use,
  // too. Null, with nothing changed, if memory for a header is refused.
  Run* cut_in_use(Run* run, size_t pages);

  // Enter every page of a run that was just allocated into the page map.
  void make_slab(Run* run, Slab* slab);
  void make_sampled(Run* run, SampledRun* sampled);

  // Gives a run back. touched: the run may hold physical memory that it did not have when it was made. If the decay
  // time is 0, its pages are purged before this function returns. Called with no lock held.
  void free(Run* run, bool touched);

  // --- For manual arenas (manual/manual_arena.h): reset.cc, loans.cc -------------------------------------------

  // The source of chunks and huge blocks. Null: anonymous memory.
  Source* source() const { return source_ != nullptr ? source_ : Source::automatic(); }
  void set_source(Source* source) { source_ = source; }
  bool is_plain() const { return source_ == nullptr; }

  // Adds memory that stays with the arena for good. It counts as held even beyond the hard limit.
  void add_chunk(Address start, size_t bytes);

  // Gives all chunks back to the source or the lender. No run may be in use.
  void release_chunks();

  // From now on the arena remembers its chunks, so that it can be reset; it must have none yet. Without a source,
  // chunks come from the lender (null: from the window). The lender outlives this arena and keeps no chunks.
  void keep_chunks(PageHeap* lender);
  bool keeps_chunks() const { return keeps_chunks_; }

  // lend: clean pages for another arena, at a multiple of align_pages; start 0 if refused. take_back: pages that were
  // lent, or some of them, and what they hold. Dirty and muzzy pages stay counted as held.
  window::Chunk lend(size_t pages, size_t align_pages);
  void take_back(Address start, size_t pages, Holds holds);

  // Adds memory for headers: zeroed, and valid as long as this page heap.
  void add_headers(void* memory, size_t count);
  // Drops all headers, at the end of an arena without chunks. Their memory goes back, except that of add_headers().
  void give_back_headers();

  // Limits the pages in use, in runs and huge blocks together. SIZE_MAX: no limit.
  void set_limit(size_t pages);

  // Counts a huge block, or its growth, against the limit. Returns false if the limit would be passed.
  bool charge_huge(size_t pages);
  void discharge_huge(size_t pages);
  size_t huge_pages() const { return __atomic_load_n(&huge_hint_, __ATOMIC_RELAXED); }

  // The arena's huge blocks: a list through `younger`, oldest first.
  void add_huge(Run* run);
  void remove_huge(Run* run);
  Run* oldest_huge();

  // All runs in use, linked through node.next. No other thread may allocate, free or resize here meanwhile.
  Run* used_runs();

  // The most bytes of address space to ask for at a time, unless one run needs more. 0: no such limit.
  void set_most_growth(size_t bytes) { __atomic_store_n(&most_growth_, bytes, __ATOMIC_RELAXED); }
  size_t most_growth() const { return __atomic_load_n(&most_growth_, __ATOMIC_RELAXED); }

  // This many of the pages in use may never have been touched. They are no reason for huge pages.
  void set_perhaps_untouched(size_t pages) { __atomic_store_n(&perhaps_untouched_, pages, __ATOMIC_RELAXED); }
  // The other pages in use.
  size_t touched_pages() const {
    const size_t used = used_pages();
    return used - smaller(used, __atomic_load_n(&perhaps_untouched_, __ATOMIC_RELAXED));
  }

  // Grows a large run in place, to more pages than it has, if those behind it are free. Returns false, with nothing
  // changed, if not.
  bool grow_in_place(Run* run, size_t pages);

  void shrink_in_place(Run* run, size_t pages);

  // Purges what decay or the release rate (release_rate.h) asks for by now (ms). For ticks and the background thread.
  void decay(uint64_t now);

  // When decay() will next have pages to purge if nothing else happens (ms), or kNever. While purges are refused (as
  // after mlockall), this is at least a second away.
  uint64_t next_decay(uint64_t now);

  // Purges muzzy pages, then dirty ones, until at most `keep` of both together are left. Returns the pages purged.
  size_t purge_to(size_t keep);

  // Purges this many pages, muzzy ones first, but breaks no huge page for it. Returns the pages purged.
  size_t purge_for_growth(size_t pages);

  // Milliseconds in which dirty pages decay (to muzzy if the muzzy time is not 0, else to clean), and muzzy pages to
  // clean. Below 0: never. 0: in the call that frees them, or by decay() if a purge was refused; for muzzy pages it
  // means that there are none. A new time starts now for all pages. For any thread, at any time.
  void set_dirty_decay_ms(int64_t ms);
  void set_muzzy_decay_ms(int64_t ms);
  int64_t dirty_decay_ms();
  int64_t dirty_decay_hint() const ACRE_NO_THREAD_SAFETY_ANALYSIS { return decay_[at(Holds::kDirty)].racy_time(); }
  int64_t muzzy_decay_ms();

  // Waits until no other thread is purging here, so that these pages are free again. Does not wait between the handlers
  // of a fork, where no purge can end.
  void wait_for_purge();

  // Unmaps clean runs, longest first: this many pages, or less if no other is worth it (unmap.cc). Returns the pages.
  size_t unmap_clean(size_t pages);
  bool may_unmap() const { return is_plain() && !keeps_chunks() && !Source::has_program(); }

  PageCounts counts();
  LockCounts lock_counts() const { return lock_.counts(); }
  // Readable without the lock; the figures may be a moment old.
  size_t dirty_pages() const ACRE_NO_THREAD_SAFETY_ANALYSIS { return free_[place(Holds::kDirty)].pages(); }
  size_t muzzy_pages() const ACRE_NO_THREAD_SAFETY_ANALYSIS { return free_[place(Holds::kMuzzy)].pages(); }
  size_t clean_pages() const ACRE_NO_THREAD_SAFETY_ANALYSIS { return free_[place(Holds::kClean)].pages(); }
  uint64_t purged_pages() const ACRE_NO_THREAD_SAFETY_ANALYSIS { return racy_load(counts_.purged); }  // so far
  size_t used_pages() const { return __atomic_load_n(&used_, __ATOMIC_RELAXED); }

  void at_fork(ForkStage stage);

 private:
  bool reserve_headers() ACRE_EXCLUDES(lock_);
  size_t headers_so_far() const ACRE_NO_THREAD_SAFETY_ANALYSIS { return racy_load(counts_.headers); }
  bool has_headers() const ACRE_NO_THREAD_SAFETY_ANALYSIS {
    return relaxed_load(header_count_) >= kHeadersPerOperation;
  }
  void count_used(size_t more, size_t less) ACRE_REQUIRES(lock_);
  Run* take_header() ACRE_REQUIRES(lock_);
  void drop_header(Run* run) ACRE_REQUIRES(lock_);

  Run* take_fit(size_t pages, size_t align_pages, bool dirty_only) ACRE_REQUIRES(lock_);
  Run* carve(Run* found, size_t lead, size_t pages) ACRE_REQUIRES(lock_);
  Run* split(Run* run, size_t pages) ACRE_REQUIRES(lock_);
  void insert_free(Run* run, Holds holds) ACRE_REQUIRES(lock_);
  void remove_free(Run* run) ACRE_REQUIRES(lock_);
  Run* free_neighbour(Address page) ACRE_REQUIRES(lock_);
  Run* free_neighbour(Address page, Holds holds) ACRE_REQUIRES(lock_);

  static void put_in_use(Run* run, bool fresh) {
    run->kind = RunKind::kLarge;
    run->fresh = fresh;
    run->tag = nullptr;
    g_page_map.set_ends(run, run);
  }

  // join.cc
  struct Range;
  enum class To : bool { kLower, kHigher };
  size_t widen(Range& range, size_t missing, To to) ACRE_REQUIRES(lock_);
  Range range_around(Run* run, size_t pages) ACRE_REQUIRES(lock_);
  Run* take(const Range& range) ACRE_REQUIRES(lock_);

  static constexpr size_t place(Holds holds) { return static_cast<size_t>(holds); }
  static constexpr size_t at(Holds holds) { return place(holds) - place(Holds::kDirty); }  // for kinds that age
  // The asm keeps the set's address in a register; otherwise the compiler computes it again for each field.
  FreeRuns& free_runs(Holds holds) ACRE_REQUIRES(lock_) {
    FreeRuns* set = &free_[place(holds)];
    asm("" : "+r"(set));
    return *set;
  }
  void put_free(Run* run, bool touched);
  void on_dirty();
  bool obtain_chunk(size_t pages, size_t align_pages);
  void add_huge_page_for(size_t pages, size_t align_pages);

  // purge.cc. Its table says which passes each kind of purge makes.
  enum class Purge : uint8_t { kDecay, kSome, kAll, kForGrowth };
  enum class Pass : uint8_t { kEnd, kWhole, kBreaksNone, kBreaksMostlyFree, kAllButSpared, kAny };
  static const Pass kPasses[4][3];
  Run* take_oldest(Holds from, size_t keep, size_t most, Pass pass) ACRE_REQUIRES(lock_);
  static huge_pages::Range part_to_purge(const Run* run, Pass pass);
  Run* take_to_purge(Holds from, size_t keep, Purge purge) ACRE_REQUIRES(lock_);
  Run* cut_out(Run* run, Address start, Address end) ACRE_REQUIRES(lock_);
  size_t put_back(Run* taken, Holds from) ACRE_REQUIRES(lock_);
  void lock_between_purges() ACRE_ACQUIRE(lock_);
  size_t purge(Holds from, Holds to, size_t keep, Purge purge);
  size_t spared(Holds holds) ACRE_REQUIRES(lock_);
  void decay(Holds from, uint64_t now);
  void set_decay_ms(Holds of, int64_t ms);
  void set_next_epoch() ACRE_REQUIRES(lock_);
  void set_refused(bool refused) ACRE_REQUIRES(lock_);
  void note_kept(Holds from, size_t keep);
  void purge_at_once();
  void release_at_rate(uint64_t now);

  // Two cache lines that each operation writes, and then what it reads. Other threads take and give back runs here.
  alignas(kCacheLine) [[no_unique_address]] Mutex lock_{Rank::kPages};
  unsigned header_count_ ACRE_GUARDED_BY(lock_) = 0;
  Run* headers_ ACRE_GUARDED_BY(lock_) = nullptr;  // spare headers, through node.next

  size_t used_ = 0;                                // pages in use; readable without the lock
  size_t most_used_ ACRE_GUARDED_BY(lock_) = SIZE_MAX;  // the limit for runs: limit_ less the huge blocks
  RunAges ages_[2] ACRE_GUARDED_BY(lock_);         // of the dirty runs, of the muzzy runs
  size_t spared_ ACRE_GUARDED_BY(lock_) = 0;       // dirty pages that decay left so as not to break huge pages

  alignas(kCacheLine) uint64_t next_epoch_ = 0;    // before it (ms) decay() does nothing; readable without the lock
  size_t perhaps_untouched_ = 0;                   // of used_
  bool at_once_ = false;                           // dirty pages do not wait for decay(); readable without the lock
  bool refused_ ACRE_GUARDED_BY(lock_) = false;    // the last purge was refused, at least in part
  std::atomic<uint32_t> purge_awaited_{0};         // 1: threads sleep until purging_ is empty; changes under the lock
  RunAges purging_ ACRE_GUARDED_BY(lock_);         // runs that purge() works on, in one thread or several
  Decay decay_[2] ACRE_GUARDED_BY(lock_) = {Decay(), Decay(0)};
  PageCounts counts_ ACRE_GUARDED_BY(lock_);       // `used` and what free_ knows are filled in by counts()

  // Manual arenas.
  bool over_limit(size_t more) const ACRE_REQUIRES(lock_) { return used_ + more > most_used_; }
  size_t step(size_t had) const ACRE_REQUIRES(lock_);
  void* take_header_page();
  bool borrows() const { return lender_ != nullptr && source() == nullptr; }
  window::Chunk borrow(size_t pages, size_t align_pages, size_t wanted);
  void count_huge(size_t pages) ACRE_REQUIRES(lock_);
  void keep_chunk(Run* record, Address start, size_t bytes, Backing backing) ACRE_REQUIRES(lock_);
  void return_chunk(Run* chunk, Run** run);
  static constexpr size_t kHeadersPerPage = (kPageBytes - sizeof(void*)) / sizeof(Run);
  static constexpr size_t kFirstLoan = size_t{32} << 10;

  void insert_run(Run* run, const window::Chunk& chunk) ACRE_REQUIRES(lock_);
  window::Chunk get_chunk(size_t pages, size_t align_pages, size_t wanted);

  Source* source_ = nullptr;
  bool keeps_chunks_ = false;
  PageHeap* lender_ = nullptr;
  struct HeaderPage;
  HeaderPage* header_pages_ ACRE_GUARDED_BY(lock_) = nullptr;
  Run* chunks_ ACRE_GUARDED_BY(lock_) = nullptr;  // headers that describe chunks, lowest first, through node.next
  RunAges huge_ ACRE_GUARDED_BY(lock_);
  size_t huge_hint_ = 0;                          // pages in huge blocks; changes under the lock
  size_t limit_ ACRE_GUARDED_BY(lock_) = SIZE_MAX;
  size_t most_growth_ = 0;

  // Clean, dirty, muzzy. The constructor leaves them as zeroes, so that unused parts take no physical memory. lock_ guards
  // them, which clang's analysis cannot be told for a member of a union.
  union {
    FreeRuns free_[3];
  };
};

}  // namespace acre
