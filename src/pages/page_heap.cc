#include "pages/page_heap.h"

#include <initializer_list>
#include <new>

#include "base/atomics.h"
#include "base/fatal.h"
#include "pages/huge_pages.h"
#include "pages/limit.h"
#include "pages/metadata.h"
#include "pages/wakeup.h"
#include "pages/window.h"

namespace acre {

namespace {

// A longer block gets no huge page, since it might be touched only here and there.
constexpr size_t kMostFromHugePage = (size_t{256} << 10) / kPageBytes;

// Headers are made in batches: as many as there are already, so that a small program has few.
constexpr size_t kFewestHeaders = 8, kMostHeaders = kPageBytes / sizeof(Run);

}  // namespace

// --- Headers ----------------------------------------------------------------------------------------------

// The check takes no lock: other threads may use up the headers before this thread takes the lock in any case.
bool PageHeap::reserve_headers() {
  if (has_headers()) return true;
  const size_t more =
      keeps_chunks_ ? kHeadersPerPage : larger(kFewestHeaders, smaller(kMostHeaders, headers_so_far()));
  void* memory = keeps_chunks_ ? take_header_page() : metadata::allocate(more * sizeof(Run));
  if (memory != nullptr) add_headers(memory, more);
  return memory != nullptr;
}

void PageHeap::add_headers(void* memory, size_t count) {
  Lock lock(lock_);
  counts_.headers += count;
  for (size_t i = 0; i < count; ++i) {
    Run* run = new (static_cast<Run*>(memory) + i) Run;
    run->home = this;
    drop_header(run);
  }
}

void PageHeap::count_used(size_t more, size_t less) {
  __atomic_store_n(&used_, used_ + more - less, __ATOMIC_RELAXED);
}

Run* PageHeap::take_header() {
  Run* run = headers_;
  if (run == nullptr) return nullptr;
  headers_ = run->node.next;
  relaxed_add(header_count_, ~0u);
  run->node = {};
  return run;
}

void PageHeap::drop_header(Run* run) {
  run->kind = RunKind::kNone;
  run->node.next = headers_;
  headers_ = run;
  relaxed_add(header_count_, 1u);
}

// --- The sets of free runs ----------------------------------------------------------------------------------

void PageHeap::remove_free(Run* run) {
  free_runs(run->holds).remove(run);
  if (run->holds != Holds::kClean) ages_[at(run->holds)].remove(run);
  g_page_map.set_ends(run, nullptr);
  run->kind = RunKind::kNone;
}

// A free run of this arena that begins or ends at this page, or null. Under another arena's lock the entry may change
// its run, and the memory of a retired arena's header may become a header of another arena, but not of this one,
// whose lock is held: only headers of this arena are looked at further.
Run* PageHeap::free_neighbour(Address page) {
  Run* run = g_page_map.find(pointer_to(page));
  if (run == nullptr || racy_load(run->home) != this) return nullptr;
  return relaxed_load(run->kind) == RunKind::kFree ? run : nullptr;
}

Run* PageHeap::free_neighbour(Address page, Holds holds) {
  Run* run = free_neighbour(page);
  return run != nullptr && run->holds == holds ? run : nullptr;
}

void PageHeap::insert_free(Run* run, Holds holds) {
  if (!is_aligned(run->base, window::kRunReach)) {
    if (Run* before = free_neighbour(run->base - kPageBytes, holds)) {
      remove_free(before);
      run->base = before->base;
      run->pages += before->pages;
      drop_header(before);
    }
  }
  if (!is_aligned(run->end(), window::kRunReach)) {
    if (Run* after = free_neighbour(run->end(), holds)) {
      remove_free(after);
      run->pages += after->pages;
      drop_header(after);
    }
  }
  run->kind = RunKind::kFree;
  run->holds = holds;
  g_page_map.set_ends(run, run);
  free_runs(holds).insert(run);
  if (holds != Holds::kClean) ages_[at(holds)].add(run);
}

// Cuts the run after `pages` pages and returns the rest. Returns null, with nothing changed, if there is no header.
Run* PageHeap::split(Run* run, size_t pages) {
  Run* rest = take_header();
  if (rest == nullptr) return nullptr;
  rest->base = run->base + (pages << kPageShift);
  rest->pages = run->pages - pages;
  run->pages = pages;
  return rest;
}

// --- Allocation ---------------------------------------------------------------------------------------------

Run* PageHeap::take_fit(size_t pages, size_t align_pages, bool dirty_only) {
  Run* found = free_[place(Holds::kDirty)].find(pages, align_pages);
  if (found == nullptr && !dirty_only) {
    if (muzzy_pages() != 0) found = free_[place(Holds::kMuzzy)].find(pages, align_pages);
    if (found == nullptr) found = free_[place(Holds::kClean)].find(pages, align_pages);
  }
  if (found == nullptr) return nullptr;
  return carve(found, FreeRuns::lead(found, align_pages), pages);
}

// Takes [lead, lead + pages) out of a free run. The pages before and behind stay free.
Run* PageHeap::carve(Run* found, size_t lead, size_t pages) {
  if (header_count_ < kHeadersPerOperation || over_limit(pages)) return nullptr;
  const Holds holds = found->holds;
  if (holds == Holds::kClean && !limit::take(pages << kPageShift)) return nullptr;
  remove_free(found);
  Run* run = found;
  if (lead != 0) {
    run = split(found, lead);
    insert_free(found, holds);
  }
  if (run->pages > pages) insert_free(split(run, pages), holds);
  put_in_use(run, holds == Holds::kClean);
  count_used(pages, 0);
  return run;
}

Run* PageHeap::allocate_free(size_t pages, size_t align_pages, bool dirty_only) {
  if (!reserve_headers()) return nullptr;
  Lock lock(lock_);
  return take_fit(pages, align_pages, dirty_only);
}

ACRE_COLD Run* PageHeap::allocate_in_window(size_t pages, size_t align_pages) {
  if (!reserve_headers()) return nullptr;
  const auto fits = [=](const Run* run) {
    return window::contains(run->base) && FreeRuns::lead(run, align_pages) + pages <= run->pages;
  };
  Lock lock(lock_);
  for (Holds holds : {Holds::kDirty, Holds::kMuzzy, Holds::kClean}) {
    Run* found = free_[place(holds)].find_among_longest(pages, fits);
    if (found != nullptr) return carve(found, FreeRuns::lead(found, align_pages), pages);
  }
  return nullptr;
}

Run* PageHeap::allocate(size_t pages, size_t align_pages) {
  if (pages <= kMostFromHugePage && huge_pages::are_wanted(touched_pages(), dirty_pages()) && source() == nullptr) {
    add_huge_page_for(pages, align_pages);
  }
  for (;;) {
    if (!reserve_headers()) return nullptr;
    {
      Lock lock(lock_);
      if (Run* run = take_fit(pages, align_pages, false)) return run;
      if (over_limit(pages)) return nullptr;
    }
    if (limit::refuses(pages << kPageShift) || !obtain_chunk(pages, align_pages)) return nullptr;
  }
}

// Does nothing if dirty or muzzy memory would do, or if a limit is near.
ACRE_COLD void PageHeap::add_huge_page_for(size_t pages, size_t align_pages) {
  const bool looked = limit::alarm() != limit::kFirstAlarm;  // until then the alarm is only the first call to look
  if (limit::refuses(kHugePageBytes) || (looked && limit::held() + kHugePageBytes > limit::alarm())) return;
  if (!reserve_headers()) return;
  Run* run = nullptr;
  while (run == nullptr) {
    {
      Lock lock(lock_);
      for (Holds holds : {Holds::kDirty, Holds::kMuzzy}) {
        if (free_[place(holds)].find(pages, align_pages) != nullptr) return;
      }
      Run* found = free_[place(Holds::kClean)].find(kPagesPerHugePage, kPagesPerHugePage);
      if (found != nullptr) {
        run = carve(found, FreeRuns::lead(found, kPagesPerHugePage), kPagesPerHugePage);
        if (run == nullptr) return;
      }
    }
    if (run == nullptr && !obtain_chunk(kPagesPerHugePage, kPagesPerHugePage)) return;
  }
  huge_pages::populate(run->base);
  put_free(run, true);  // it is wanted now, so decay time 0 does not purge it
}

ACRE_COLD Run* PageHeap::cut_in_use(Run* run, size_t pages) {
  if (!reserve_headers()) return nullptr;
  Lock lock(lock_);
  Run* rest = split(run, pages);
  if (rest == nullptr) return nullptr;
  rest->ticket = kNoTicket;
  g_page_map.set_ends(run, run);
  put_in_use(rest, run->fresh);
  return rest;
}

// Without the lock: this thread alone has the run, and free_neighbour() finds it in use before and after.
void PageHeap::make_slab(Run* run, Slab* slab) {
  run->slab = slab;
  release_store(run->kind, RunKind::kSlab);
  g_page_map.set_all(run, run);
}

void PageHeap::make_sampled(Run* run, SampledRun* sampled) {
  run->sampled = sampled;
  release_store(run->kind, RunKind::kSampled);
  g_page_map.set_all(run, run);
}

// --- Free and resize ----------------------------------------------------------------------------------------

// A slab run that was cut only in part becomes dirty as a whole: in two pieces, a dirty and a clean one, it would fit
// no other run of its length.
ACRE_ALWAYS_INLINE void PageHeap::put_free(Run* run, bool touched) {
  Lock lock(lock_);
  if (run->kind == RunKind::kLarge) {
    g_page_map.set_ends(run, nullptr);
  } else {
    g_page_map.set_all(run, nullptr);
  }
  run->kind = RunKind::kNone;
  count_used(0, run->pages);
  const bool clean = !touched && run->fresh;
  if (clean) limit::give_back(run->bytes());
  insert_free(run, clean ? Holds::kClean : Holds::kDirty);
}

ACRE_ALWAYS_INLINE void PageHeap::on_dirty() {
  if (ACRE_UNLIKELY(relaxed_load(at_once_))) purge_at_once();
  wakeup::signal();
}

void PageHeap::free(Run* run, bool touched) {
  put_free(run, touched);
  on_dirty();
}

ACRE_APART void PageHeap::shrink_in_place(Run* run, size_t pages) {
  if (!reserve_headers()) return;
  {
    Lock lock(lock_);
    if (header_count_ < kHeadersPerOperation) return;
    g_page_map.set_ends(run, nullptr);
    Run* rest = split(run, pages);
    g_page_map.set_ends(run, run);
    count_used(0, rest->pages);
    insert_free(rest, Holds::kDirty);
  }
  on_dirty();
}

ACRE_COLD PageCounts PageHeap::counts() {
  Lock lock(lock_);
  PageCounts counts = counts_;
  counts.used = used_;
  counts.dirty = dirty_pages();
  counts.muzzy = muzzy_pages();
  counts.clean = free_[place(Holds::kClean)].pages();
  counts.spare_headers = header_count_;
  return counts;
}

// --- Fork -----------------------------------------------------------------------------------------------------

// A purge that another thread was doing never ends in the child, so its pages become dirty again. A purge of this thread,
// in which a signal handler forks, goes on.
void PageHeap::at_fork(ForkStage stage) ACRE_NO_THREAD_SAFETY_ANALYSIS {
  const bool is_whole = lock_.at_fork(stage);
  if (stage != ForkStage::kInChild || !is_whole) return;
  for (Run *run = purging_.oldest(), *next; run != nullptr; run = next) {
    next = run->younger;
    if (run->purger == this_thread()) continue;
    purging_.remove(run);
    insert_free(run, Holds::kDirty);
  }
}

}  // namespace acre
