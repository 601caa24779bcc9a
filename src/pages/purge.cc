// How an arena's dirty pages go back to the OS: by decay, at a rate, on request, or (at decay time 0) in free().
//
//   dirty ── dirty time ──> clean                         MADV_DONTNEED
//   dirty ── dirty time ──> muzzy ── muzzy time ──> clean  MADV_FREE first, if muzzy pages have a time
#include "os/os.h"
#include "pages/huge_pages.h"
#include "pages/limit.h"
#include "pages/page_heap.h"
#include "pages/release_rate.h"
#include "pages/wakeup.h"

namespace acre {

namespace {

// Pages to purge before the lock is taken again, so that a long purge does not keep its pages from other threads.
constexpr size_t kPurgeBatch = (size_t{32} << 20) / kPageBytes;

constexpr uint64_t kRetryMs = 1000;

// The pass kWhole looks at the oldest pages only: at this many times the pages that have to go.
constexpr size_t kOldestLookedAt = 2;

// Purges the run and sets run->holds to what its pages hold now. Returns the number of system calls.
unsigned purge_run(Run* run, Holds to, Source* source) {
  if (ACRE_UNLIKELY(source != nullptr)) {
    run->holds = source->purge(run, to);
    return 1;
  }
  void* start = pointer_to(run->base);
  unsigned calls = 1;
  if (to == Holds::kMuzzy) {
    if (os::purge_lazily(start, run->bytes())) {
      run->holds = Holds::kMuzzy;
      return calls;
    }
    ++calls;  // a kernel without MADV_FREE
  }
  if (os::purge(start, run->bytes())) run->holds = Holds::kClean;
  return calls;
}

}  // namespace

// The pages outside of [start, end) stay free.
ACRE_COLD Run* PageHeap::cut_out(Run* run, Address start, Address end) {
  const Holds holds = run->holds;
  remove_free(run);
  if (start != run->base) {
    Run* before = run;
    run = split(before, (start - before->base) >> kPageShift);
    insert_free(before, holds);
    run->holds = holds;  // a refused purge leaves it so
  }
  if (end != run->end()) insert_free(split(run, (end - run->base) >> kPageShift), holds);
  return run;
}

// A purge breaks a huge page unless it takes all of it. So it makes passes over the runs, oldest first; the next pass
// begins when one finds nothing more.
//
//   pass                 pages that it may take
//   kWhole               whole huge pages, among the oldest pages (kOldestLookedAt)
//   kBreaksNone          pages whose purge breaks no huge page
//   kBreaksMostlyFree    pages whose purge breaks only huge pages of which at least half is free
//   kAllButSpared        all, but it leaves as many as may stay for whole huge pages (huge_pages::most_spared)
//   kAny                 all
constinit const PageHeap::Pass PageHeap::kPasses[4][3] = {
    /* kDecay     */ {Pass::kWhole, Pass::kBreaksMostlyFree, Pass::kAllButSpared},
    /* kSome      */ {Pass::kWhole, Pass::kBreaksMostlyFree, Pass::kAny},
    /* kAll       */ {Pass::kAny},  // a full purge takes all, so the order does not matter
    /* kForGrowth */ {Pass::kBreaksNone},
};

// The part of a free run that the pass may take; empty if start >= end.
ACRE_COLD huge_pages::Range PageHeap::part_to_purge(const Run* run, Pass pass) {
  const huge_pages::Range all = Source::first_to_purge({run->base, run->end()});
  switch (pass) {
    case Pass::kWhole: return {align_up(all.start, kHugePageBytes), align_down(all.end, kHugePageBytes)};
    case Pass::kBreaksNone: return huge_pages::without_broken(all, kHugePageBytes);
    case Pass::kBreaksMostlyFree: return huge_pages::without_broken(all, kHugePageBytes / 2);
    default: return all;
  }
}

// Moves runs, oldest first, from a set to purging_, until `keep` pages are left, `most` are taken, or no headers are
// left to cut with. The result is linked through node.next.
ACRE_COLD Run* PageHeap::take_oldest(Holds from, size_t keep, size_t most, Pass pass) {
  const FreeRuns& runs = free_[place(from)];
  const bool only_whole = pass == Pass::kWhole;
  size_t looked_at = only_whole ? (runs.pages() - smaller(keep, runs.pages())) * kOldestLookedAt : SIZE_MAX;
  Run* taken = nullptr;
  size_t pages = 0;
  // What is left of a cut run becomes the youngest. This pass will take nothing of it.
  for (Run *run = ages_[at(from)].oldest(), *next; run != nullptr; run = next) {
    if (runs.pages() <= keep || pages >= most || looked_at == 0 || header_count_ < kHeadersPerOperation) break;
    next = run->younger;
    looked_at -= smaller(looked_at, run->pages);
    huge_pages::Range part = part_to_purge(run, pass);
    if (part.start >= part.end) continue;
    const size_t excess = smaller(runs.pages() - keep, most - pages);
    const Address last = part.end;
    part.end = smaller(last, part.start + (excess << kPageShift));
    part.end = only_whole ? align_down(part.end, kHugePageBytes) : huge_pages::end_of_whole(part.start, part.end, last);
    if (part.start == part.end) continue;
    run = cut_out(run, part.start, part.end);
    huge_pages::forget(part);
    pages += run->pages;
    run->purger = this_thread();
    purging_.add(run);
    run->node.next = taken;
    taken = run;
  }
  return taken;
}

// Returns the pages that are clean.
ACRE_COLD size_t PageHeap::put_back(Run* taken, Holds from) {
  PurgeCounts& counts = from == Holds::kDirty ? counts_.from_dirty : counts_.from_muzzy;
  size_t purged = 0;
  while (taken != nullptr) {
    Run* next = taken->node.next;
    if (taken->holds == Holds::kClean) purged += taken->pages;
    if (taken->holds == Holds::kMuzzy) counts_.made_muzzy += taken->pages;
    if (taken->holds != from) counts.pages += taken->pages;
    purging_.remove(taken);
    insert_free(taken, taken->holds);
    taken = next;
  }
  counts_.purged += purged;
  limit::give_back(purged << kPageShift);
  return purged;
}

// Returns null if nothing is left to purge.
ACRE_COLD Run* PageHeap::take_to_purge(Holds from, size_t keep, Purge purge) {
  for (const Pass pass : kPasses[static_cast<size_t>(purge)]) {
    if (pass == Pass::kEnd) break;
    const size_t spared = pass == Pass::kAllButSpared ? huge_pages::most_spared(used_) : 0;
    Run* taken = take_oldest(from, keep + spared, kPurgeBatch, pass);
    if (pass == Pass::kAllButSpared && from == Holds::kDirty) spared_ = dirty_pages() - smaller(dirty_pages(), keep);
    if (taken != nullptr) return taken;
  }
  return nullptr;
}

// Returns the pages that became clean.
ACRE_COLD size_t PageHeap::purge(Holds from, Holds to, size_t keep, Purge purge) {
  size_t purged = 0;
  bool first = true;
  for (;;) {
    if (!reserve_headers()) return purged;
    Run* taken;
    {
      Lock lock(lock_);
      taken = take_to_purge(from, keep, purge);
    }
    if (taken == nullptr) {
      if (Source::has_program()) note_kept(from, keep);
      return purged;
    }
    uint64_t calls = 0;
    bool refused = false, is_awaited;
    for (Run* run = taken; run != nullptr; run = run->node.next) {
      calls += purge_run(run, to, source());
      refused |= run->holds == from;
    }
    {
      Lock lock(lock_);
      PurgeCounts& counts = from == Holds::kDirty ? counts_.from_dirty : counts_.from_muzzy;
      counts.calls += calls;
      counts_.purges += calls;
      const uint64_t pages = counts.pages;
      purged += put_back(taken, from);
      if (first && counts.pages != pages) {
        ++counts.sweeps;
        first = false;
      }
      decay_[at(from)].settle(free_[place(from)].pages());
      set_refused(refused);
      is_awaited = purging_.oldest() == nullptr && purge_awaited_.exchange(0, std::memory_order_relaxed) != 0;
    }
    if (is_awaited) os::wake(purge_awaited_);
    if (refused) return purged;
  }
}

// While purges are refused, free() does not try in vain; decay() tries again.
void PageHeap::set_refused(bool refused) {
  refused_ = refused;
  relaxed_store(at_once_, decay_[at(Holds::kDirty)].time() == 0 && !refused);
}

// If pages stay that must not be purged, decay() need not come again soon.
ACRE_COLD void PageHeap::note_kept(Holds from, size_t keep) {
  Lock lock(lock_);
  refused_ = free_[place(from)].pages() > keep;
}

ACRE_COLD void PageHeap::purge_at_once() {
  if (release_rate::get() != release_rate::kByDecay || dirty_pages() == 0) return;
  const bool to_muzzy = muzzy_decay_ms() != 0;
  purge(Holds::kDirty, to_muzzy ? Holds::kMuzzy : Holds::kClean, 0, Purge::kAll);
}

size_t PageHeap::purge_to(size_t keep) {
  const size_t keep_muzzy = keep - smaller(keep, dirty_pages());
  const size_t purged = purge(Holds::kMuzzy, Holds::kClean, keep_muzzy, keep_muzzy == 0 ? Purge::kAll : Purge::kSome);
  return purged + purge(Holds::kDirty, Holds::kClean, keep, keep == 0 ? Purge::kAll : Purge::kSome);
}

ACRE_COLD size_t PageHeap::purge_for_growth(size_t pages) {
  size_t purged = 0;
  const size_t muzzy = smaller(muzzy_pages(), pages);
  if (muzzy != 0) purged += purge(Holds::kMuzzy, Holds::kClean, muzzy_pages() - muzzy, Purge::kForGrowth);
  const size_t dirty = smaller(dirty_pages(), pages - muzzy);
  if (dirty != 0) purged += purge(Holds::kDirty, Holds::kClean, dirty_pages() - dirty, Purge::kForGrowth);
  return purged;
}

// Takes the lock at a moment when no thread is purging.
ACRE_COLD void PageHeap::lock_between_purges() {
  for (;;) {
    lock_.lock();
    if (purging_.oldest() == nullptr) return;
    purge_awaited_.store(1, std::memory_order_relaxed);
    lock_.unlock();
    os::wait_while(purge_awaited_, 1, UINT64_MAX);
  }
}

ACRE_COLD void PageHeap::wait_for_purge() {
  if (Mutex::this_thread_forks()) return;
  lock_between_purges();
  lock_.unlock();
}

size_t PageHeap::spared(Holds holds) {
  if (holds != Holds::kDirty) return 0;
  spared_ = smaller(spared_, smaller(dirty_pages(), huge_pages::most_spared(used_)));
  return spared_;
}

void PageHeap::decay(Holds from, uint64_t now) {
  size_t allowed;
  Holds to = Holds::kClean;
  {
    Lock lock(lock_);
    const size_t pages = free_[place(from)].pages();
    Decay& curve = decay_[at(from)];
    if (!curve.advance(now, pages)) return;
    allowed = curve.allowed();
    if (pages <= allowed + spared(from)) return;
    if (from == Holds::kDirty && decay_[at(Holds::kMuzzy)].time() != 0) to = Holds::kMuzzy;
  }
  purge(from, to, allowed, Purge::kDecay);
}

ACRE_COLD void PageHeap::release_at_rate(uint64_t now) {
  const size_t held = dirty_pages() + muzzy_pages();
  const size_t pages = release_rate::take(now, held);
  if (pages != 0) purge_to(held - pages);
}

void PageHeap::decay(uint64_t now) {
  if (release_rate::get() != release_rate::kByDecay) return release_at_rate(now);
  if (now < __atomic_load_n(&next_epoch_, __ATOMIC_RELAXED)) return;
  decay(Holds::kDirty, now);
  if (muzzy_pages() != 0) decay(Holds::kMuzzy, now);
  Lock lock(lock_);
  set_next_epoch();
}

// The earlier of the two epochs' ends. A set without pages needs no epochs.
void PageHeap::set_next_epoch() {
  uint64_t next = decay_[at(Holds::kDirty)].epoch_end();
  if (muzzy_pages() != 0) next = smaller(next, decay_[at(Holds::kMuzzy)].epoch_end());
  __atomic_store_n(&next_epoch_, next, __ATOMIC_RELAXED);
}

ACRE_COLD uint64_t PageHeap::next_decay(uint64_t now) {
  const int64_t rate = release_rate::get();
  uint64_t next = kNever;
  Lock lock(lock_);
  if (rate == release_rate::kByDecay) {
    next = smaller(decay_[at(Holds::kDirty)].next_release(now, dirty_pages() - spared(Holds::kDirty)),
                   decay_[at(Holds::kMuzzy)].next_release(now, muzzy_pages()));
  } else if (rate > 0 && dirty_pages() + muzzy_pages() != 0) {
    next = release_rate::next(now);
  }
  return refused_ ? larger(next, now + kRetryMs) : next;
}

void PageHeap::set_decay_ms(Holds of, int64_t ms) {
  {
    Lock lock(lock_);
    decay_[at(of)].set_time(ms);
    set_refused(false);
    set_next_epoch();
  }
  wakeup::signal();
}

void PageHeap::set_dirty_decay_ms(int64_t ms) { set_decay_ms(Holds::kDirty, ms); }
void PageHeap::set_muzzy_decay_ms(int64_t ms) { set_decay_ms(Holds::kMuzzy, ms); }

int64_t PageHeap::dirty_decay_ms() {
  Lock lock(lock_);
  return decay_[at(Holds::kDirty)].time();
}

int64_t PageHeap::muzzy_decay_ms() {
  Lock lock(lock_);
  return decay_[at(Holds::kMuzzy)].time();
}

}  // namespace acre
