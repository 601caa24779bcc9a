#include "observe/sampler.h"

#include "base/probes.h"
#include "cache/lookup.h"
#include "cache/malloc.h"
#include "cache/misuse.h"
#include "cache/owner_at_work.h"
#include "cache/placement.h"
#include "cache/private_list.h"
#include "cache/sampled_run.h"
#include "cache/thread_bytes.h"
#include "observe/fill.h"
#include "observe/hooks.h"

namespace acre::sampler {

constinit bool g_on = false;
constinit std::atomic<bool> g_new_threads{true};
constinit Sampler g_sampler = {};

namespace {

// g_on is true if one of these is.
constinit std::atomic<bool> g_sampling{false};
constinit std::atomic<size_t> g_most{0};
constinit std::atomic<bool> g_hooked{false};
void set_on() { release_store(g_on, g_sampling.load() || g_hooked.load()); }

constinit std::atomic<uint32_t> g_epoch{0};  // gaps of an older epoch do not count
// RunLists::unseen is kNotDrawn until a number of blocks is drawn, which then has the bit kDrawn. With kThenDrawAgain
// it is the first part of a longer gap, whose rest is drawn anew: an exponential gap has no memory.
constexpr uint32_t kDrawn = uint32_t{1} << 31;
constexpr uint32_t kThenDrawAgain = uint32_t{1} << 30;
constexpr uint32_t kMostDrawn = kThenDrawAgain - 1;
constexpr uint32_t blocks_in(uint32_t unseen) { return unseen & kMostDrawn; }

// Draws a gap if none is drawn, or if the drawn one does not count any more.
ACRE_NOINLINE void draw(Heap& heap, SizeClass c) {
  const uint32_t epoch = g_epoch.load(std::memory_order_acquire);
  if (heap.sampler_epoch != epoch) {
    heap.sampler_epoch = epoch;
    for (ClassUse& use : heap.cold().uses) {
      if (use.lists.unseen != kNotDrawn) use.lists.unseen = kNotDrawn;
    }
  }
  uint32_t& unseen = heap.use(c).lists.unseen;
  while (unseen == kNotDrawn || unseen == (kDrawn | kThenDrawAgain)) {
    const uint64_t gap = g_sampler.gap(size_of_class(c));
    unseen = kDrawn | (gap < kMostDrawn ? static_cast<uint32_t>(gap) : kMostDrawn | kThenDrawAgain);
  }
}

// How many more blocks pass before one is seen.
ACRE_ALWAYS_INLINE uint32_t unseen(Heap& heap, SizeClass c) {
  const uint32_t& unseen = heap.use(c).lists.unseen;
  const bool may_be_due = (unseen & (kDrawn | kThenDrawAgain)) != kDrawn;
  if (ACRE_UNLIKELY(may_be_due || heap.sampler_epoch != g_epoch.load(std::memory_order_acquire))) draw(heap, c);
  return blocks_in(unseen);
}

bool may_see(size_t bytes) {
  return g_sampling.load(std::memory_order_acquire) && bytes <= g_most.load(std::memory_order_relaxed);
}
bool is_sampled(const Heap& heap, SizeClass c) { return !heap.unsampled && may_see(size_of_class(c)); }

// The run that the next block of the class would most likely come from.
Address place_beside(Heap& heap, SizeClass c) {
  const Slab* current = heap.use(c).lists.current;
  return current != nullptr ? current->base : heap.arena->bin(c).lowest();
}

uint8_t due(size_t bytes) { return g_sampler.due == nullptr ? kForProfile : g_sampler.due(bytes); }

void* allocate_guarded(Heap& heap, SizeClass c, size_t asked) {
  if (heap.bound || heap.arena->is_manual || hardened::is_on()) return nullptr;
  const bool is_whole = fill::is_on() || sampled_runs::g_are_sizes_told.load(std::memory_order_relaxed);
  return guard::allocate(heap.arena->pages, c, is_whole ? size_of_class(c) : asked);
}

void* allocate_between_others(Heap& heap, SizeClass c) {
  const bool strict = heap.bound || hardened::is_on();
  void* block = sampled_runs::allocate(placement::home_of(heap, c), strict, c);
  if (block != nullptr && fill::clears_sampled()) fill::clear(block, 0, size_of_class(c));
  return block;
}

// Null: memory is refused, or nobody wants the block any more.
void* allocate_sampled(Heap& heap, SizeClass c, size_t asked) {
  const uint8_t wanted = due(size_of_class(c));
  void* block = (wanted & kForGuards) != 0 ? allocate_guarded(heap, c, asked) : nullptr;
  if (block == nullptr && (wanted & kForProfile) != 0) block = allocate_between_others(heap, c);
  if (block == nullptr) return nullptr;
  thread_bytes::count_allocated(heap, size_of_class(c));
  if ((wanted & kForProfile) == 0) return block;
  const Ticket ticket = g_sampler.allocated(block, size_of_class(c), place_beside(heap, c));
  if (ticket != kNoTicket) sampled_runs::set_ticket(block, ticket);
  return block;
}

}  // namespace

void start(const Sampler& sampler, size_t most) {
  if (g_sampler.gap != sampler.gap) g_sampler = sampler;
  g_most.store(most);
  g_epoch.fetch_add(1, std::memory_order_release);
  g_sampling.store(true);
  set_on();
  if (Heap* heap = heap_if_any()) empty_heap(*heap);
}

void stop() {
  g_sampling.store(false);
  set_on();
}

void set_hooked(bool on) {
  g_hooked.store(on);
  set_on();
}

void set_thread(Heap& heap, bool on) {
  heap.unsampled = !on;
  empty_heap(heap);
}
void set_new_threads(bool on) { g_new_threads.store(on, std::memory_order_relaxed); }

void* allocate(Heap& heap, SizeClass c, size_t asked) {
  private_list::count(heap, c);
  const bool is_seen = is_sampled(heap, c);
  if (is_seen && unseen(heap, c) == 0) {
    heap.use(c).lists.unseen = kNotDrawn;
    if (void* block = allocate_sampled(heap, c, asked)) return block;
  }
  if (heap.slots[c].head == nullptr && !refill(heap, c)) return nullptr;
  const uint32_t left = is_seen ? unseen(heap, c) : UINT32_MAX;  // refill may have given up the gap
  private_list::count_and_let(heap, c, static_cast<int32_t>(smaller<uint32_t>(left, private_list::kMostLeft)));
  return pop(heap.slots[c]);
}

void passed(Heap& heap, SizeClass c, uint32_t blocks) {
  uint32_t& unseen = heap.use(c).lists.unseen;
  unseen -= smaller(blocks_in(unseen), blocks);
}

bool sees(size_t bytes) {
  if (!may_see(bytes)) return false;
  Heap* heap = heap_if_any();
  if (heap != nullptr ? heap->unsampled : !new_threads()) return false;
  return g_sampler.gap(bytes) == 0 && (due(bytes) & kForProfile) != 0;
}

ACRE_COLD void* allocate_seen(Heap& heap, Arena& home, SizeClass c) {
  const size_t bytes = size_of_class(c);
  if (!sees(bytes)) return nullptr;
  void* block = sampled_runs::allocate(home, true, c);
  if (block == nullptr) return nullptr;
  if (fill::clears_sampled()) fill::clear(block, 0, bytes);
  thread_bytes::count_allocated(heap, bytes);
  const Ticket ticket = g_sampler.allocated(block, bytes, 0);
  if (ticket != kNoTicket) sampled_runs::set_ticket(block, ticket);
  return block;
}

void seen_run(Run* run, size_t bytes) { run->ticket = g_sampler.allocated(pointer_to(run->base), bytes, 0); }

void allocated_run(Run* run) {
  if (sees(run->bytes())) seen_run(run, run->bytes());
}

void freeing_run(Run* run) {
  const Ticket ticket = run->ticket;
  run->ticket = kNoTicket;
  freed(pointer_to(run->base), run->bytes(), ticket);
}

static void tell_of_free(const void* block, size_t bytes) {
  probes::free(block);
  if (FreedHook* hook = g_on_freed.load(std::memory_order_relaxed)) hook(block, bytes);
}

void freed(const void* block, size_t bytes, Ticket ticket) {
  tell_of_free(block, bytes);
  g_sampler.freed(ticket);
}

void release(SampledRun* run, void* block, const char* name) {
  const Ticket ticket = sampled_runs::ticket_of(run, block);
  if (ticket == sampled_runs::kDead) misuse::double_free(name, block, run->block_bytes);
  const size_t bytes = run->block_bytes;  // another thread may use the header once the block is free
  hooks::freeing(block);
  if (fill::is_on()) fill::freed_block(block, bytes);
  if (ticket != kNoTicket) tell_of_free(block, bytes);  // before another thread may get the block
  run->is_guarded ? guard::free(run, name) : sampled_runs::free(run, block);
  if (ticket != kNoTicket) g_sampler.freed(ticket);
  if (Heap* heap = heap_if_any()) {
    thread_bytes::count_freed(*heap, bytes);
    tick(*heap, true);
  }
}

}  // namespace acre::sampler
