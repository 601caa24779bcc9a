// Runs that are joined from free neighbours of different kinds.
//
// Free runs coalesce with neighbours of their own kind alone (page_heap.h). Where no dirty run is long enough, a dirty
// run and its neighbours may be. Taken together, they bring fewer clean pages into use than a clean run would.
// docs/decisions/0039-joined-runs.md has the figures.
#include "pages/limit.h"
#include "pages/page_heap.h"
#include "pages/window.h"

namespace acre {

namespace {

constexpr unsigned kMostNeighbours = 6;  // on each side of a dirty run
constexpr size_t kLeastShare = 4;        // a dirty run shorter than this part of the request is not looked at

// Counts clean pages as held from now on. Returns false if the hard limit refuses.
bool hold(size_t clean) { return clean == 0 || limit::take(clean << kPageShift); }

}  // namespace

// Free addresses from `start` to `end`. first: the free run that holds `start`; null: one begins there.
struct PageHeap::Range {
  Run* first = nullptr;
  Address start = 0;
  Address end = 0;
  size_t clean = 0;  // pages
};

// Adds up to `missing` pages of the neighbours on one side. Returns the pages that are missing still.
ACRE_COLD size_t PageHeap::widen(Range& range, size_t missing, To to) {
  for (unsigned i = 0; i < kMostNeighbours && missing != 0; ++i) {
    const Address edge = to == To::kHigher ? range.end : range.start;
    if (is_aligned(edge, window::kRunReach)) break;
    Run* next = free_neighbour(to == To::kHigher ? edge : edge - kPageBytes);
    if (next == nullptr) break;
    const size_t more = smaller(missing, next->pages);
    missing -= more;
    if (next->holds == Holds::kClean) range.clean += more;
    if (to == To::kHigher) {
      range.end += more << kPageShift;
    } else {
      range.start -= more << kPageShift;
      range.first = next;
    }
  }
  return missing;
}

// Returns a range of so many pages that holds all of a shorter dirty run. `first` is null if the neighbours are too
// short.
ACRE_COLD PageHeap::Range PageHeap::range_around(Run* run, size_t pages) {
  Range range{run, run->base, run->end(), 0};
  const size_t missing = widen(range, pages - run->pages, To::kHigher);
  return widen(range, missing, To::kLower) == 0 ? range : Range{};
}

// Returns one run for the whole range. What the range leaves of its first and its last free run stays free.
ACRE_COLD Run* PageHeap::take(const Range& range) {
  Run* taken = nullptr;
  for (Address at = range.start; at != range.end;) {
    Run* run = taken == nullptr && range.first != nullptr ? range.first : free_neighbour(at);
    run = cut_out(run, at, smaller(run->end(), range.end));
    at = run->end();
    if (taken == nullptr) {
      taken = run;
    } else {
      taken->pages += run->pages;
      drop_header(run);
    }
  }
  return taken;
}

ACRE_COLD Run* PageHeap::allocate_joined(size_t pages, size_t* clean) {
  if (!reserve_headers()) return nullptr;
  Lock lock(lock_);
  if (header_count_ < kHeadersPerOperation || over_limit(pages)) return nullptr;
  Range best;
  best.clean = pages / 2 + 1;
  free_[place(Holds::kDirty)].find_among_longest(pages / kLeastShare + 1, [&](Run* run) ACRE_NO_THREAD_SAFETY_ANALYSIS {
    if (run->pages >= pages) return false;
    const Range range = range_around(run, pages);
    if (range.first != nullptr && range.clean < best.clean) best = range;
    return false;  // look at the others, too
  });
  if (best.first == nullptr || !hold(best.clean)) return nullptr;
  *clean = best.clean;
  Run* run = take(best);
  put_in_use(run, false);
  count_used(pages, 0);
  return run;
}

ACRE_APART bool PageHeap::grow_in_place(Run* run, size_t pages) {
  if (!reserve_headers()) return false;
  Lock lock(lock_);
  const size_t more = pages - run->pages;
  if (header_count_ < kHeadersPerOperation || over_limit(more)) return false;
  Range range{nullptr, run->end(), run->end(), 0};
  if (widen(range, more, To::kHigher) != 0 || !hold(range.clean)) return false;
  g_page_map.set_ends(run, nullptr);
  drop_header(take(range));
  run->pages = pages;
  g_page_map.set_ends(run, run);
  count_used(more, 0);
  run->fresh = false;  // no longer known: all of it may be dirty
  return true;
}

}  // namespace acre
