// The slow path of malloc: fills the private list of a class.
//
// The current run gives the blocks that its owner freed; if there are none, those that others freed; if these are too
// few, blocks never used. A run without enough of any is released, and replaced by the first of these: an available run
// of the heap; a run from a bin, the own arena's bin first; an adopted run in which others have freed enough; a new run
// on dirty pages, including pages of runs that other classes do not use; a new run on new memory.
#include <string.h>

#include "cache/malloc.h"
#include "cache/owner_at_work.h"
#include "cache/placement.h"
#include "cache/private_list.h"
#include "cache/upcalls.h"
#include "slab/order.h"

namespace acre {

namespace {

constexpr unsigned kMostArenasSearched = 8;
constexpr uint8_t kTimesFew = 8;
constexpr uint32_t kFirstShare = 8;
constexpr unsigned kCrowd = 16;  // threads of an arena

// How many blocks to carve: an eighth of a page's worth at first, then as many as were carved before, up to a page's
// worth; more if much of the run is in use already. A thread that needs a few blocks writes no links into others.
uint32_t batch_for(const Slab* slab) {
  const uint32_t page = larger<uint32_t>(run_shape(slab->size_class).first_batch, slab::is_by_chance() ? slab::kLeastCut : 1);
  const uint32_t carved = slab->carved;
  return larger(smaller(page, larger(carved, page / kFirstShare + 1)), carved / 4);
}

Link* recycle(BlockCounts& blocks, Slab* slab) {
  blocks.recycled += slab::deferred_count(slab);
  return slab::take_deferred(slab);
}

bool fill_from_current(Slot& slot, BlockCounts& blocks, SizeClass c, Slab* slab) {
  if (slab->deferred != nullptr) {
    slot.head = recycle(blocks, slab);
  } else if (load_remote(slab).free >= run_shape(c).enough_to_stay) {
    slot.head = slab::collect_remote(slab, &blocks.listed);
  } else if (const uint32_t uncarved = slab->capacity - slab->carved; uncarved != 0) {
    const uint32_t fresh = smaller(batch_for(slab), uncarved);
    slot.head = slab::carve(slab, fresh, nullptr);
    blocks.listed += fresh;
  } else {
    return false;
  }
  return true;
}

// Returns what `take` finds in a bin of the class, the own arena's bin first; or nothing.
template <class Take>
ACRE_ALWAYS_INLINE auto from_bins(Heap& heap, SizeClass c, Take take) {
  auto found = take(placement::home_of(heap, c).bin(c));
  if (found || heap.bound || hardened::is_on()) return found;
  unsigned arenas = smaller(arenas::count(), kMostArenasSearched);
  for (unsigned i = 1; !found && i < arenas; ++i) {
    found = take(arenas::at((heap.arena->index + i) % arenas::count())->bin(c));
  }
  return found;
}

Run* pages_from_others(Heap& heap, size_t pages, bool dirty_only) {
  if (heap.bound || hardened::is_on()) return nullptr;
  unsigned arenas = dirty_only ? smaller(arenas::count(), kMostArenasSearched) : arenas::count();
  for (unsigned i = 1; i < arenas; ++i) {
    PageHeap& other = arenas::at((heap.arena->index + i) % arenas::count())->pages;
    if (dirty_only && other.dirty_pages() < pages) continue;
    if (Run* run = other.allocate_free(pages, kRunUnitPages, dirty_only)) return run;
  }
  return nullptr;
}

// The run becomes a slab run of the heap. Frees the run and returns null if memory for its header is refused.
ACRE_ALWAYS_INLINE Slab* slab_on(Heap& heap, Run* run, SizeClass c) {
  if (run->fresh) arenas::grew_by(run->pages);
  if (hardened::is_on() && !run->fresh) memset(pointer_to(run->base), 0, run->bytes());
  tick_soon_if_alarmed(heap);
  Slab* slab = slab::make(run, c, heap.owner());
  if (slab == nullptr) run->home->free(run, false);
  return slab;
}

ACRE_COLD Slab* new_run_in_window(Heap& heap, PageHeap& from, SizeClass c) {
  Run* run = from.allocate_in_window(run_shape(c).pages, kRunUnitPages);
  return run == nullptr ? nullptr : slab_on(heap, run, c);
}

PageHeap& home_pages(Heap& heap, SizeClass c) { return placement::home_of(heap, c).pages; }

// own: where pages come from first.
Slab* new_run(Heap& heap, PageHeap& own, SizeClass c) {
  const size_t pages = run_shape(c).pages;
  Run* run = own.dirty_pages() >= pages ? own.allocate_free(pages, kRunUnitPages, true) : nullptr;
  if (run == nullptr) run = pages_from_others(heap, pages, true);
  if (run == nullptr && give_up_unused(heap)) run = own.allocate_free(pages, kRunUnitPages, true);
  if (run == nullptr) run = own.allocate(pages, kRunUnitPages);
  if (run == nullptr) run = pages_from_others(heap, pages, false);
  if (run == nullptr) return nullptr;
  Slab* slab = slab_on(heap, run, c);
  if (ACRE_UNLIKELY(slab == nullptr)) slab = new_run_in_window(heap, own, c);
  if (slab == nullptr) return nullptr;
  auto& [lists, blocks] = heap.use(c);
  relaxed_add(blocks.new_runs, uint64_t{1});
  if (lists.returned && lists.keep_more < kMostRunsKept - 1) {
    lists.keep_more = static_cast<uint8_t>(2 * lists.keep_more + 1);
  }
  lists.returned = false;
  return slab;
}

// If many threads share an arena, each takes a few blocks of a class at first, more each time, and leaves the run to
// the others. Of thousands of threads most need no more; a run for each class of each would be many times what lives.
bool begins_with_few(const Heap& heap, SizeClass c) {
  return relaxed_load(heap.arena->threads) > kCrowd && heap.use(c).lists.times_few < kTimesFew;
}

// More blocks are cut than the caller takes, so that there is an order.
ACRE_COLD Link* blocks_by_chance(Slab* slab, uint32_t count) {
  const uint32_t cut = smaller<uint32_t>(larger(count, slab::kLeastCut), slab->capacity);
  Link* const head = slab::carve(slab, cut, nullptr);
  if (cut != count) slab::return_list(slab, cut_off(head, count));
  return head;
}

// Takes blocks of a new run, and leaves the run to the other threads.
BlockList blocks_from_new_run(Heap& heap, PageHeap& own, SizeClass c, uint32_t most) {
  Slab* slab = new_run(heap, own, c);
  if (slab == nullptr) return {};
  const uint32_t count = smaller<uint32_t>(most, slab->capacity);
  Link* const head = slab::is_by_chance() ? blocks_by_chance(slab, count) : slab::carve(slab, count, nullptr);
  const BlockList blocks{slab, head, count};
  slab::release(slab);
  return blocks;
}

ACRE_APART BlockList take_few(Heap& heap, SizeClass c) {
  const uint32_t few = smaller<uint32_t>(1u << heap.use(c).lists.times_few++, run_shape(c).first_batch);
  BlockList found = from_bins(heap, c, [few](Bin& bin) { return bin.take_blocks(few); });
  return found ? found : blocks_from_new_run(heap, home_pages(heap, c), c, few);
}

// Gets a run from outside the heap, or blocks of a run that the heap does not own. Not inlined, so that a refill
// without it keeps its values in registers.
ACRE_NOINLINE Bin::Taken from_elsewhere(Heap& heap, SizeClass c) {
  BlockCounts& blocks = heap.use(c).blocks;
  heap.outbox().flush();
  if (heap.shared != nullptr) unshare_runs(heap);
  if (ACRE_UNLIKELY(begins_with_few(heap, c))) return {nullptr, take_few(heap, c)};
  const uint32_t most = 2u * run_shape(c).enough;
  const Bin::Taken found = from_bins(heap, c, [&heap, most](Bin& bin) { return bin.take(heap.owner(), most); });
  if (found.run != nullptr) blocks.freed -= slab::deferred_count(found.run);  // these were freed by others
  if (found) return found;
  if (Slab* slab = take_adopted(heap, c)) return {slab, {}};
  return {new_run(heap, home_pages(heap, c), c), {}};
}

}  // namespace

// Makes a run current, or fills the private list with blocks of a run that the thread does not own. False: refused.
static bool change_run(Heap& heap, SizeClass c) {
  const OwnerAtWork busy(heap);
  if (ACRE_UNLIKELY(heap.slot_at[size_of_class(c)] == 0)) heap.enter_in_table(c);
  RunLists& lists = heap.use(c).lists;
  if (Slab* used_up = lists.current) {
    lists.current = nullptr;
    slab::release(used_up);
  }
  Bin::Taken found{take_available(heap, c), {}};
  if (found.run == nullptr) found = from_elsewhere(heap, c);
  Slot& slot = heap.slots[c];
  if (found.run != nullptr) {
    slab::set_list(found.run, OwnersList::kCurrent);
    lists.current = found.run;
    return true;
  }
  if (!found.blocks) return false;
  slot.head = found.blocks.head;
  heap.use(c).blocks.listed += found.blocks.count;
  return true;
}

static BlockList one_from_new_run(Heap& heap, PageHeap& own, SizeClass c) {
  const OwnerAtWork busy(heap);
  heap.outbox().flush();
  return blocks_from_new_run(heap, own, c, 1);
}

ACRE_NOINLINE static BlockList shared_from_elsewhere(Heap& heap, SizeClass c) {
  for (bool tried_all = false;; tried_all = true) {
    BlockList block = from_bins(heap, c, [](Bin& bin) { return bin.take_blocks(1); });
    if (!block) block = one_from_new_run(heap, home_pages(heap, c), c);
    if (block || tried_all) return block;
    reclaim_before_refusal();
  }
}

// Takes one block at a time: no other thread can have the blocks on a private list.
ACRE_NOINLINE static bool refill_shared(Heap& heap, SizeClass c) {
  BlockList block = placement::home_of(heap, c).bin(c).take_blocks(1);
  if (!block) block = shared_from_elsewhere(heap, c);
  if (!block) return false;
  ++heap.use(c).blocks.listed;
  Slot& slot = heap.slots[c];
  slot.head = block.head;
  private_list::filled(heap, c, 1);
  return true;
}

ACRE_COLD void* take_past_list(Heap& heap, Arena& home, SizeClass c) {
  relaxed_add(heap.use(c).blocks.refills, uint64_t{1});
  for (bool tried_all = false;; tried_all = true) {
    BlockList block = home.bin(c).take_blocks(1);
    if (!block) block = one_from_new_run(heap, home.pages, c);
    if (block) {
      ++heap.use(c).blocks.listed;
      Slot slot;
      slot.head = block.head;
      return pop(slot);
    }
    if (tried_all) return nullptr;
    reclaim_before_refusal();
  }
}

bool refill(Heap& heap, SizeClass c) {
  Slot& slot = heap.slots[c];
  auto& [lists, blocks] = heap.use(c);
  relaxed_add(blocks.refills, uint64_t{1});
  lists.busy = true;
  if (ACRE_UNLIKELY(is_shared_class(c))) return refill_shared(heap, c);
  const uint64_t before = blocks.put_on_list();
  const auto listed = [&blocks, before] { return static_cast<uint32_t>(blocks.put_on_list() - before); };
  for (bool tried_all = false;;) {
    Slab* slab = lists.current;
    if (slab != nullptr && fill_from_current(slot, blocks, c, slab)) {
      slab::stop_counting_down(slab);
      private_list::filled(heap, c, listed());
      return true;
    }
    if (ACRE_LIKELY(change_run(heap, c))) {
      if (slot.head == nullptr) continue;
      private_list::filled(heap, c, listed());
      return true;
    }
    if (tried_all) return false;
    tried_all = true;
    reclaim_before_refusal();
  }
}

}  // namespace acre
