// Large blocks out of several free runs.
//
// Dirty and clean free runs do not coalesce, so that memory which went back to the OS in part leaves dirty runs that
// are too short with clean ones between them. A request that no dirty run holds takes one of these together with
// its neighbours: it faults only on the clean pages, and what is dirty is used where it lies.
#include "pages/limit.h"
#include "pages/page_heap.h"
#include "pages/window.h"

namespace acre {

// Consecutive free runs: `pages` pages from `lead` pages into the first run on.
struct PageHeap::Stretch {
  Run* first = nullptr;
  size_t lead = 0;
  size_t pages = 0;
};

// The free run of this arena, whatever it holds, that begins or ends with this page.
Run* PageHeap::free_run_at(Address page) {
  for (Holds holds : {Holds::kDirty, Holds::kMuzzy, Holds::kClean}) {
    if (Run* run = free_neighbour(page, holds)) return run;
  }
  return nullptr;
}

// Goes from a run upwards through free ones as far as need be, then downwards.
bool PageHeap::reach(Run* run, size_t pages, Stretch* stretch) {
  size_t found = run->pages;
  for (Address end = run->end(); found < pages && !is_aligned(end, window::kLinkReach);) {
    const Run* next = free_run_at(end);
    if (next == nullptr) break;
    found += next->pages;
    end = next->end();
  }
  Run* first = run;
  while (found < pages && !is_aligned(first->base, window::kLinkReach)) {
    Run* before = free_run_at(first->base - kPageBytes);
    if (before == nullptr) return false;
    found += before->pages;
    first = before;
  }
  if (found < pages) return false;
  *stretch = {first, first == run ? 0 : found - pages, pages};
  return true;
}

// Null, with nothing changed: the clean pages would be too many.
Run* PageHeap::take(const Stretch& stretch) {
  if (!limit::take(stretch.pages << kPageShift)) return nullptr;
  size_t counted_before = 0;
  Run* piece = stretch.first;
  Holds holds = piece->holds;
  remove_free(piece);
  if (stretch.lead != 0) {
    Run* lead = piece;
    piece = split(lead, stretch.lead);
    insert_free(lead, holds);
  }
  Run* whole = piece;
  const Address end = whole->base + (stretch.pages << kPageShift);
  for (;;) {
    if (piece->end() > end) insert_free(split(piece, (end - piece->base) >> kPageShift), holds);
    if (holds != Holds::kClean) counted_before += piece->pages;
    if (piece != whole) {
      whole->pages += piece->pages;
      drop_header(piece);
    }
    if (whole->end() == end) break;
    piece = free_run_at(whole->end());
    holds = piece->holds;
    remove_free(piece);
  }
  limit::give_back(counted_before << kPageShift);
  whole->kind = RunKind::kLarge;
  whole->fresh = false;
  whole->tag = nullptr;
  g_page_map.set_ends(whole, whole);
  count_used(stretch.pages, 0);
  return whole;
}

Run* PageHeap::allocate_around_dirty(size_t pages) {
  // Of a shorter run's pages too few would be saved.
  constexpr size_t kLeastShare = 4;
  if (!reserve_headers()) return nullptr;
  Lock lock(lock_);
  if (header_count_ < kHeadersPerOperation) return nullptr;
  Stretch stretch;
  auto reaches = [&](Run* run) ACRE_NO_THREAD_SAFETY_ANALYSIS { return reach(run, pages, &stretch); };
  const size_t least = larger<size_t>(1, pages / kLeastShare);
  return free_[place(Holds::kDirty)].find_among_longest(least, reaches) == nullptr ? nullptr : take(stretch);
}

}  // namespace acre
