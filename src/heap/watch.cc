#include "heap/watch.h"

#include "heap/current.h"
#include "heap/fill.h"
#include "heap/hooks.h"
#include "heap/lookup.h"
#include "heap/malloc.h"
#include "heap/misuse.h"
#include "heap/thread_bytes.h"
#include "heap/watched_run.h"

namespace acre::watch {

constinit bool g_on = false;
constinit std::atomic<bool> g_new_threads{true};
constinit Watcher g_watcher = {};

namespace {

// g_on is either.
constinit std::atomic<bool> g_watching{false};
constinit std::atomic<bool> g_hooked{false};
void set_on() { release_store(g_on, g_watching.load() || g_hooked.load()); }

constinit std::atomic<uint32_t> g_epoch{0};  // gaps of an older one do not count
// Shelves::unseen is kNotDrawn until a number of blocks is drawn. Then it has this bit, and the other one if they are the first
// part of a longer gap, whose rest, by the watcher's leave, is drawn anew (an exponential gap has no memory).
constexpr uint32_t kDrawn = uint32_t{1} << 31;
constexpr uint32_t kThenDrawAgain = uint32_t{1} << 30;
constexpr uint32_t kMostDrawn = kThenDrawAgain - 1;
constexpr uint32_t blocks_in(uint32_t unseen) { return unseen & kMostDrawn; }

// If nothing is drawn, or what was drawn does not count any more.
ACRE_NOINLINE void draw(Heap& heap, SizeClass c) {
  const uint32_t epoch = g_epoch.load(std::memory_order_acquire);
  if (heap.watch_epoch != epoch) {
    heap.watch_epoch = epoch;
    for (ClassUse& use : heap.cold().uses) {
      if (use.shelves.unseen != kNotDrawn) use.shelves.unseen = kNotDrawn;
    }
  }
  uint32_t& unseen = heap.use(c).shelves.unseen;
  while (unseen == kNotDrawn || unseen == (kDrawn | kThenDrawAgain)) {
    const uint64_t gap = g_watcher.gap(size_of_class(c));
    unseen = kDrawn | (gap < kMostDrawn ? static_cast<uint32_t>(gap) : kMostDrawn | kThenDrawAgain);
  }
}

// How many blocks pass, beyond the private list's, before one is to be seen.
ACRE_ALWAYS_INLINE uint32_t unseen(Heap& heap, SizeClass c) {
  const uint32_t& unseen = heap.use(c).shelves.unseen;
  const bool may_be_due = (unseen & (kDrawn | kThenDrawAgain)) != kDrawn;
  if (ACRE_UNLIKELY(may_be_due || heap.watch_epoch != g_epoch.load(std::memory_order_acquire))) draw(heap, c);
  return blocks_in(unseen);
}

bool is_watched(const Heap& heap) { return !heap.unwatched && g_watching.load(std::memory_order_acquire); }

// Where the next block of the class would most likely come from.
Address place_beside(Heap& heap, SizeClass c) {
  const Slab* current = heap.use(c).shelves.current;
  return current != nullptr ? current->base : heap.arena->bin(c).lowest();
}

void* allocate_watched(Heap& heap, SizeClass c) {
  void* block = watched_runs::allocate(*heap.arena, heap.bound, c);
  if (block == nullptr) return nullptr;
  thread_bytes::count_allocated(heap, size_of_class(c));
  const Ticket ticket = g_watcher.allocated(block, size_of_class(c), place_beside(heap, c));
  if (ticket != kNoTicket) watched_runs::set_ticket(block, ticket);
  return block;
}

// The list was just filled from one run: its current one, or one that is shared.
void return_rest(Heap& heap, SizeClass c, LowAddress rest) {
  if (Slab* current = heap.use(c).shelves.current) return put_back(heap, current, rest);
  Slab* shared = find_block(pointer_to(heap.slots[c].high | rest)).slab;
  const ListEnd end = walk_list(shared, rest);
  heap.use(c).blocks.listed -= end.count;
  slab::give_back(shared, rest, end.last, end.count);
}

// Cuts the private list after `most` blocks, at least 1; how many it has then.
uint32_t shorten_list(Heap& heap, SizeClass c, uint32_t most) {
  const Slot& slot = heap.slots[c];
  const CutOff cut = cut_off(slot.high, slot.head, most);
  if (!is_end(cut.rest)) return_rest(heap, c, cut.rest);
  return cut.count;
}

}  // namespace

void start(const Watcher& watcher) {
  if (g_watcher.gap != watcher.gap) g_watcher = watcher;
  g_epoch.fetch_add(1, std::memory_order_release);
  g_watching.store(true);
  set_on();
  if (Heap* heap = heap_if_any()) empty_heap(*heap);
}

void stop() {
  g_watching.store(false);
  set_on();
}

void set_hooked(bool on) {
  g_hooked.store(on);
  set_on();
}

void set_thread(Heap& heap, bool on) {
  heap.unwatched = !on;
  empty_heap(heap);
}
void set_new_threads(bool on) { g_new_threads.store(on, std::memory_order_relaxed); }

void* allocate(Heap& heap, SizeClass c) {
  if (!is_watched(heap)) {
    if (!refill(heap, c)) return nullptr;
    current::open_again(heap, c, UINT32_MAX);
    return pop(heap.slots[c]);
  }
  current::settle(heap, c);
  if (unseen(heap, c) == 0) {
    heap.use(c).shelves.unseen = kNotDrawn;
    if (void* block = allocate_watched(heap, c)) return block;
  }
  const BlockCounts& counts = heap.use(c).blocks;
  const uint64_t before = counts.put_on_list();
  if (!refill(heap, c)) return nullptr;
  uint32_t listed = static_cast<uint32_t>(counts.put_on_list() - before);
  const uint32_t left = unseen(heap, c);  // what refill gave up may have been this
  if (listed > left) listed = shorten_list(heap, c, left);
  passed(heap, c, listed);
  current::open_again(heap, c, unseen(heap, c));
  return pop(heap.slots[c]);
}

uint32_t may_pass(Heap& heap, SizeClass c) {
  return is_watched(heap) ? unseen(heap, c) : UINT32_MAX;
}

void passed(Heap& heap, SizeClass c, uint32_t blocks) {
  uint32_t& unseen = heap.use(c).shelves.unseen;
  unseen -= smaller(blocks_in(unseen), blocks);
}

// What may be freed onto the list is one less from now on.
bool may_keep(Heap& heap, SizeClass c) {
  current::close(heap, c);
  const bool may = may_pass(heap, c) != 0;
  if (may) passed(heap, c, 1);
  current::open_again(heap, c, may_pass(heap, c));
  return may;
}

bool sees(size_t bytes) {
  if (!g_watching.load(std::memory_order_acquire)) return false;
  Heap* heap = heap_if_any();
  if (heap != nullptr ? heap->unwatched : !new_threads()) return false;
  return g_watcher.gap(bytes) == 0;
}

void seen_run(Run* run, size_t bytes) { run->ticket = g_watcher.allocated(pointer_to(run->base), bytes, 0); }

void allocated_run(Run* run) {
  if (sees(run->bytes())) seen_run(run, run->bytes());
}

void freeing_run(Run* run) {
  const Ticket ticket = run->ticket;
  run->ticket = kNoTicket;
  g_watcher.freed(ticket);
}

void freed(Ticket ticket) { g_watcher.freed(ticket); }

void release(WatchedRun* run, void* block) {
  const Ticket ticket = watched_runs::ticket_of(run, block);
  if (ticket == watched_runs::kDead) misuse::double_free("free", block, run->block_bytes);
  hooks::freeing(block);
  if (fill::is_on()) fill::freed_block(block, run->block_bytes);
  watched_runs::free(run, block);
  if (ticket != kNoTicket) g_watcher.freed(ticket);
  if (Heap* heap = heap_if_any()) {
    thread_bytes::count_freed(*heap, run->block_bytes);
    tick(*heap);
  }
}

}  // namespace acre::watch
