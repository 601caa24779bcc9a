#include "pages/page_heap.h"

#include <new>

#include "base/fatal.h"
#include "os/os.h"
#include "pages/metadata.h"
#include "pages/window.h"
#include "tables/options.h"

namespace acre {

namespace {

// An operation under the lock takes at most this many headers: two splits and a chunk.
constexpr unsigned kHeadersPerOperation = 4;
constexpr unsigned kHeaderBatch = kPageBytes / sizeof(Run);

// Address space is obtained in growing steps: it costs nothing until it is touched, and runs find neighbours
// to coalesce with. The arena's doubles at first, then grows by an eighth. Where address space does cost
// (`ulimit -v`, strict overcommit) and is refused, just what is needed is asked for.
constexpr size_t kFirstGrowth = size_t{4} << 20;
constexpr size_t kDoublingUpTo = size_t{32} << 20;
constexpr size_t kGrowthShare = 8;
constexpr size_t kMostGrowth = size_t{256} << 20;

size_t growth(size_t had) {
  if (options().chunk != 0) return static_cast<size_t>(options().chunk);
  if (had < kDoublingUpTo) return larger(had, kFirstGrowth);
  return smaller(larger(had / kGrowthShare, kDoublingUpTo), kMostGrowth);
}

// Pages purged between two looks at the lock, so that a large purge does not hold back the others.
constexpr size_t kPurgeBatch = (size_t{32} << 20) / kPageBytes;

}  // namespace

// --- Headers ----------------------------------------------------------------------------------------------

bool PageHeap::reserve_headers() {
  {
    Lock lock(lock_);
    if (header_count_ >= kHeadersPerOperation) return true;
  }
  auto* batch = static_cast<Run*>(metadata::allocate(kHeaderBatch * sizeof(Run)));
  if (batch == nullptr) return false;
  Lock lock(lock_);
  for (unsigned i = 0; i < kHeaderBatch; ++i) {
    Run* run = new (batch + i) Run;
    run->home = this;
    drop_header(run);
  }
  return true;
}

void PageHeap::count_used(size_t more, size_t less) {
  counts_.used += more - less;
  __atomic_store_n(&used_hint_, counts_.used, __ATOMIC_RELAXED);
}

Run* PageHeap::take_header() {
  Run* run = headers_;
  if (run == nullptr) return nullptr;
  headers_ = run->node.next;
  --header_count_;
  run->node = {};
  return run;
}

void PageHeap::drop_header(Run* run) {
  run->kind = RunKind::kNone;
  run->node.next = headers_;
  headers_ = run;
  ++header_count_;
}

// --- The sets of free runs ----------------------------------------------------------------------------------

void PageHeap::link_youngest(Run* run) {
  run->older = youngest_;
  run->younger = nullptr;
  (youngest_ == nullptr ? oldest_ : youngest_->younger) = run;
  youngest_ = run;
}

void PageHeap::unlink_age(Run* run) {
  (run->older == nullptr ? oldest_ : run->older->younger) = run->younger;
  (run->younger == nullptr ? youngest_ : run->younger->older) = run->older;
}

void PageHeap::remove_free(Run* run) {
  if (run->dirty) {
    dirty_.remove(run);
    unlink_age(run);
    __atomic_store_n(&dirty_hint_, dirty_.pages(), __ATOMIC_RELAXED);
  } else {
    clean_.remove(run);
  }
  g_page_map.set_ends(run, nullptr);
  run->kind = RunKind::kNone;
}

// A free run of this arena and kind that begins or ends at this page. Which run an entry names may change
// under another arena's lock, but a header's arena never does, so only our own runs are looked at further.
Run* PageHeap::free_neighbour(Address page, bool dirty) {
  Run* run = g_page_map.find(pointer_to(page));
  if (run == nullptr || run->home != this || run->kind != RunKind::kFree || run->dirty != dirty) return nullptr;
  return run;
}

void PageHeap::insert_free(Run* run, bool dirty) {
  if (!is_aligned(run->base, window::kLinkReach)) {
    if (Run* before = free_neighbour(run->base - kPageBytes, dirty)) {
      remove_free(before);
      run->base = before->base;
      run->pages += before->pages;
      drop_header(before);
    }
  }
  if (!is_aligned(run->end(), window::kLinkReach)) {
    if (Run* after = free_neighbour(run->end(), dirty)) {
      remove_free(after);
      run->pages += after->pages;
      drop_header(after);
    }
  }
  run->kind = RunKind::kFree;
  run->dirty = dirty;
  g_page_map.set_ends(run, run);
  if (dirty) {
    dirty_.insert(run);
    link_youngest(run);
    __atomic_store_n(&dirty_hint_, dirty_.pages(), __ATOMIC_RELAXED);
  } else {
    clean_.insert(run);
  }
}

// Cuts the run after `pages` pages and returns the rest. Null if there is no header: nothing is changed.
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
  Run* found = dirty_.find(pages, align_pages);
  if (found == nullptr && !dirty_only) found = clean_.find(pages, align_pages);
  if (found == nullptr) return nullptr;
  return carve(found, FreeRuns::lead(found, align_pages), pages);
}

// Takes [lead, lead + pages) out of a free run; what is before and behind stays free.
Run* PageHeap::carve(Run* found, size_t lead, size_t pages) {
  if (header_count_ < kHeadersPerOperation) return nullptr;
  bool dirty = found->dirty;
  remove_free(found);
  Run* run = found;
  if (lead != 0) {
    run = split(found, lead);
    insert_free(found, dirty);
  }
  if (run->pages > pages) insert_free(split(run, pages), dirty);
  run->kind = RunKind::kLarge;
  run->fresh = !dirty;
  run->dirty = false;
  g_page_map.set_ends(run, run);
  count_used(pages, 0);
  return run;
}

Run* PageHeap::allocate_free(size_t pages, size_t align_pages, bool dirty_only) {
  if (!reserve_headers()) return nullptr;
  Lock lock(lock_);
  return take_fit(pages, align_pages, dirty_only);
}

Run* PageHeap::allocate(size_t pages, size_t align_pages) {
  for (;;) {
    if (!reserve_headers()) return nullptr;
    {
      Lock lock(lock_);
      if (Run* run = take_fit(pages, align_pages, false)) return run;
    }
    if (!obtain_chunk(pages, align_pages)) return nullptr;
  }
}

bool PageHeap::obtain_chunk(size_t pages, size_t align_pages) {
  size_t needed = (pages + align_pages - 1) << kPageShift;
  if (needed > window::kMostChunk) return false;
  Run* run;  // taken first, so that a chunk that was obtained cannot be lost
  size_t had;
  {
    Lock lock(lock_);
    had = counts_.obtained << kPageShift;
    run = take_header();
  }
  if (run == nullptr) return reserve_headers();
  const size_t wanted = growth(had);
  window::Chunk chunk = window::allocate(larger(needed, wanted));
  if (chunk.start == 0 && wanted > needed) chunk = window::allocate(needed);
  Lock lock(lock_);
  if (chunk.start == 0) {
    drop_header(run);
    return false;
  }
  run->base = chunk.start;
  run->pages = chunk.bytes >> kPageShift;
  counts_.obtained += run->pages;
  insert_free(run, false);
  return true;
}

void PageHeap::make_slab(Run* run, Slab* slab) {
  g_page_map.set_all(run, run);
  Lock lock(lock_);
  run->slab = slab;
  run->kind = RunKind::kSlab;
}

// --- Giving back --------------------------------------------------------------------------------------------

// A slab run that was cut only in part counts as dirty as a whole: in two pieces, a dirty and a clean one, it
// would fit no other run of its length.
void PageHeap::free(Run* run, bool touched) {
  Lock lock(lock_);
  if (run->kind == RunKind::kSlab) {
    g_page_map.set_all(run, nullptr);
  } else {
    g_page_map.set_ends(run, nullptr);
  }
  run->kind = RunKind::kNone;
  count_used(0, run->pages);
  insert_free(run, touched || !run->fresh);
}

bool PageHeap::grow_in_place(Run* run, size_t pages) {
  if (!reserve_headers()) return false;
  Lock lock(lock_);
  if (header_count_ < kHeadersPerOperation || is_aligned(run->end(), window::kLinkReach)) return false;
  size_t more = pages - run->pages;
  Run* after = free_neighbour(run->end(), true);
  if (after == nullptr) after = free_neighbour(run->end(), false);
  if (after == nullptr || after->pages < more) return false;
  bool dirty = after->dirty;
  remove_free(after);
  g_page_map.set_ends(run, nullptr);
  if (after->pages > more) insert_free(split(after, more), dirty);
  drop_header(after);
  run->pages = pages;
  g_page_map.set_ends(run, run);
  count_used(more, 0);
  run->fresh = false;  // from now on it is only known that all of it may be dirty
  return true;
}

void PageHeap::shrink_in_place(Run* run, size_t pages) {
  if (!reserve_headers()) return;
  Lock lock(lock_);
  if (header_count_ < kHeadersPerOperation) return;
  g_page_map.set_ends(run, nullptr);
  Run* rest = split(run, pages);
  g_page_map.set_ends(run, run);
  count_used(0, rest->pages);
  insert_free(rest, true);
}

// --- Purge ----------------------------------------------------------------------------------------------------

// Takes dirty runs, oldest first, out of the set and onto purging_, until `keep` pages or `most` are taken.
Run* PageHeap::take_oldest_dirty(size_t keep, size_t most) {
  Run* taken = nullptr;
  size_t pages = 0;
  while (oldest_ != nullptr && dirty_.pages() > keep && pages < most) {
    Run* run = oldest_;
    size_t excess = smaller(dirty_.pages() - keep, most - pages);
    remove_free(run);
    if (run->pages > excess && header_count_ >= kHeadersPerOperation) {
      insert_free(split(run, excess), true);
    }
    pages += run->pages;
    run->node.next = taken;
    taken = run;
  }
  return taken;
}

size_t PageHeap::purge_to(size_t keep) {
  size_t purged = 0;
  for (;;) {
    if (!reserve_headers()) return purged;
    Run* taken;
    {
      Lock lock(lock_);
      if (purging_ != nullptr) return purged;  // another thread is at it
      taken = take_oldest_dirty(keep, kPurgeBatch);
      purging_ = taken;
    }
    if (taken == nullptr) return purged;
    uint64_t calls = 0;
    size_t pages = 0;
    bool refused = false;
    for (Run* run = taken; run != nullptr; run = run->node.next) {
      // `fresh` serves as the mark of a purge that worked.
      run->fresh = os::purge(pointer_to(run->base), run->bytes());
      refused |= !run->fresh;
      ++calls;
    }
    Lock lock(lock_);
    purging_ = nullptr;
    counts_.purges += calls;
    while (taken != nullptr) {
      Run* next = taken->node.next;
      if (taken->fresh) pages += taken->pages;
      insert_free(taken, !taken->fresh);
      taken = next;
    }
    counts_.purged += pages;
    purged += pages;
    decay_.settle(dirty_.pages());
    if (refused) return purged;
  }
}

void PageHeap::decay(uint64_t now) {
  size_t allowed;
  {
    Lock lock(lock_);
    if (!decay_.advance(now, dirty_.pages())) return;
    allowed = decay_.allowed();
    if (dirty_.pages() <= allowed) return;
  }
  purge_to(allowed);
}

void PageHeap::set_decay_time(int64_t ms) {
  Lock lock(lock_);
  decay_.set_time(ms);
}

int64_t PageHeap::decay_time() {
  Lock lock(lock_);
  return decay_.time();
}

PageCounts PageHeap::counts() {
  Lock lock(lock_);
  PageCounts counts = counts_;
  counts.dirty = dirty_.pages();
  counts.clean = clean_.pages();
  return counts;
}

// --- Fork -----------------------------------------------------------------------------------------------------

void PageHeap::before_fork() { lock_.before_fork(); }
void PageHeap::after_fork_in_parent() { lock_.after_fork_in_parent(); }

// A purge that was under way in another thread never ends here: its pages are dirty again.
void PageHeap::after_fork_in_child() ACRE_NO_THREAD_SAFETY_ANALYSIS {
  for (Run* run = purging_; run != nullptr;) {
    Run* next = run->node.next;
    insert_free(run, true);
    run = next;
  }
  purging_ = nullptr;
  lock_.after_fork_in_child();
}

}  // namespace acre
