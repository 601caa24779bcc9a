// What reclaimers take from an idle heap's lists (reclaim/idle.h), and how the owner ends the sharing of it.
#include "cache/allowance.h"
#include "cache/run_lists.h"
#include "slab/reclaim.h"

namespace acre {

static void unshare(Heap& heap, Slab* slab) {
  uint64_t& freed = heap.use(slab->size_class).blocks.freed;  // read first: unshare() may free the run's pages
  freed += slab::unshare(slab);
}

// Approximate while the owner and others free blocks of the run.
static bool is_to_be_taken(const Slab* slab, Take take) {
  const auto used = static_cast<uint32_t>(acquire_load(slab->countdown) + slab->floor);
  const uint32_t free = slab->capacity - used + load_remote(slab).free;
  return 4 * free >= static_cast<uint32_t>(take) * slab->capacity;
}

// The runs of a list from this one on. Returns the run at which `most` was used up, or null.
ACRE_COLD static Slab* take_kept_runs_from(Heap& heap, Slab* slab, Take take, unsigned& most) {
  for (Slab* next; slab != nullptr && most != 0; slab = next, --most) {
    next = slab->node.next;
    if (!is_to_be_taken(slab, take)) continue;
    if (slab::is_all_free(slab)) {
      RunLists& lists = heap.use(slab->size_class).lists;
      if (slab->list == OwnersList::kAvailable && slab::used(slab) == 0) one_empty_less(lists);
      take_off_list(heap, slab);
      count_freed(heap, slab);
      slab::free_pages(slab);
    } else if (Link* const hostage = slab::find_hostage(slab); hostage != nullptr) {
      take_off_list(heap, slab);
      heap.use(slab->size_class).blocks.freed += slab::share(slab, hostage);
      slab->next = heap.shared;
      heap.shared = slab;
    }
  }
  return slab;
}

// The adopted runs, then each class's available ones.
constexpr SizeClass kLists = kSmallClasses + 1;

// Returns false if it stopped before the end of the lists.
ACRE_COLD static bool take_listed_runs(Heap& heap, Take take, unsigned& most) {
  for (TakenUpTo& at = heap.taken_up_to; at.list < kLists; ++at.list) {
    RunLists* lists = at.list == 0 ? nullptr : &heap.use(at.list - 1).lists;
    Slab* const newest = (lists == nullptr ? heap.adopted : lists->available).newest();
    at.run = take_kept_runs_from(heap, at.run == nullptr ? newest : at.run, take, most);
    if (at.run != nullptr) return false;
    if (lists != nullptr && lists->empties != 0) lists->empties = 0;  // they are taken, counted (on_empty) or not yet
  }
  trim_allowance(heap);
  return true;
}

ACRE_COLD bool take_kept_runs(Heap& heap, Take take, unsigned& most) {
  TakenUpTo& at = heap.taken_up_to;
  if (at.list < kLists && heap.kept_pages != 0 && !take_listed_runs(heap, take, most)) return false;
  at.list = kLists;
  for (Slab** link = at.run == nullptr ? &heap.shared : &at.run->next; Slab* slab = *link; --most) {
    if (most == 0) return false;
    if (slab::is_free_but_for_hostage(slab)) {
      *link = slab->next;
      unshare(heap, slab);
    } else {
      link = &slab->next;
      at.run = slab;
    }
  }
  return true;
}

void unshare_runs(Heap& heap) {
  while (Slab* slab = heap.shared) {
    heap.shared = slab->next;
    unshare(heap, slab);
  }
}

}  // namespace acre
