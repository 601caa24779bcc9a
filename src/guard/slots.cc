#include "guard/slots.h"

#include <string.h>

#include <new>

#include "os/os.h"
#include "pages/metadata.h"
#include "pages/page_map.h"
#include "sample/random.h"

namespace acre::guard {

namespace {

// All memory for guards, 512 KiB: pages of live blocks, slots, and what the page map needs for them.
constexpr size_t kMostBytes = size_t{496} << 10;
constexpr size_t kLiveBytes = size_t{320} << 10;
constexpr unsigned kSlots = (kMostBytes - kLiveBytes) / sizeof(Slot);
constexpr unsigned char kPattern = 0xb5;

enum State : uint32_t { kNotMade, kMaking, kMade, kRefused };
constinit std::atomic<uint32_t> g_state{kNotMade};
constinit Slot* g_slot = nullptr;  // kSlots of them
constinit std::atomic<Address> g_base{0};
constinit size_t g_page_bytes = 0;

constinit Mutex g_lock{Rank::kGuards};
constinit Slot* g_oldest ACRE_GUARDED_BY(g_lock) = nullptr;  // free slots, then spent ones
constinit Slot* g_newest ACRE_GUARDED_BY(g_lock) = nullptr;
constinit unsigned g_live ACRE_GUARDED_BY(g_lock) = 0;
constinit std::atomic<uint64_t> g_made{0}, g_refused{0};

size_t all_bytes() { return (2 * kSlots + 1) * g_page_bytes; }
Address page_of(const Slot* slot) { return slot->run.base; }

void append(Slot* slot) ACRE_REQUIRES(g_lock) {
  slot->next = nullptr;
  (g_oldest == nullptr ? g_oldest : g_newest->next) = slot;
  g_newest = slot;
}

Slot* take_oldest() {
  Lock lock(g_lock);
  Slot* slot = g_oldest;
  if (slot == nullptr || (g_live + 1) * g_page_bytes > larger(kLiveBytes, g_page_bytes)) return nullptr;
  g_oldest = slot->next;
  ++g_live;
  return slot;
}

// A slot's page map entries stay for ever.
void make_slot(unsigned i, Address page) {
  Slot* slot = new (&g_slot[i]) Slot;
  slot->run.base = page;
  slot->run.pages = g_page_bytes >> kPageShift;
  slot->run.kind = RunKind::kSampled;
  slot->run.sampled = &slot->header;
  slot->header.run = &slot->run;
  slot->header.is_guarded = true;
  slot->header.capacity = 1;
  slot->header.free = 1;
  slot->header.free_bits = &slot->free_bit;
  slot->header.tickets = &slot->ticket;
  g_page_map.set_all(&slot->run, &slot->run);
  Lock lock(g_lock);
  append(slot);
}

bool make_slots() {
  g_page_bytes = os::page_bytes();
  void* slots = metadata::allocate(kSlots * sizeof(Slot));
  void* pages = slots == nullptr ? nullptr : os::reserve(all_bytes());
  if (pages == nullptr) return false;
  if (!g_page_map.prepare(address_of(pages), all_bytes())) return false;
  g_slot = static_cast<Slot*>(slots);
  for (unsigned i = 0; i < kSlots; ++i) make_slot(i, address_of(pages) + (2 * i + 1) * g_page_bytes);
  g_base.store(address_of(pages), std::memory_order_release);
  return true;
}

// The first thread makes the slots. Others get none meanwhile.
bool are_made() {
  uint32_t state = g_state.load(std::memory_order_acquire);
  if (state == kNotMade && g_state.compare_exchange_strong(state, kMaking)) {
    state = make_slots() ? kMade : kRefused;
    g_state.store(state, std::memory_order_release);
  }
  return state == kMade;
}

void fill(const Slot* slot) {
  const Address page = page_of(slot), end = page + g_page_bytes, asked_end = slot->header.base + slot->header.asked;
  memset(pointer_to(page), kPattern, slot->header.base - page);
  memset(pointer_to(asked_end), kPattern, end - asked_end);
}

bool is_whole_at(Address a) { return *static_cast<const unsigned char*>(pointer_to(a)) == kPattern; }

}  // namespace

namespace slots {

Slot* take(PageHeap& home, SizeClass c, size_t asked) {
  Slot* slot = are_made() && size_of_class(c) <= g_page_bytes ? take_oldest() : nullptr;
  if (slot != nullptr && !os::commit(pointer_to(page_of(slot)), g_page_bytes)) {
    end_free(slot);
    slot = nullptr;
  }
  if (slot == nullptr) {
    g_refused.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  SampledRun& header = slot->header;
  header.block_bytes = static_cast<uint32_t>(size_of_class(c));
  header.size_class = static_cast<uint8_t>(c);
  header.asked = smaller<uint32_t>(static_cast<uint32_t>(asked), header.block_bytes);
  const bool is_right = (random::next() & 1) != 0;
  relaxed_store(header.base, page_of(slot) + (is_right ? g_page_bytes - header.block_bytes : 0));
  slot->run.home = &home;
  slot->ticket = kNoTicket;
  slot->freed.thread = 0;
  fill(slot);
  g_made.fetch_add(1, std::memory_order_relaxed);
  relaxed_store(slot->free_bit, uint64_t{0});
  relaxed_store(header.free, uint16_t{0});
  return slot;
}

bool begin_free(Slot* slot) {
  Lock lock(g_lock);
  if (slot->free_bit != 0) return false;
  relaxed_store(slot->free_bit, uint64_t{1});
  relaxed_store(slot->header.free, uint16_t{1});
  return true;
}

// Where the system refuses, the slot's content stays, and accesses are not found.
void end_free(Slot* slot) {
  os::uncommit(pointer_to(page_of(slot)), g_page_bytes);
  Lock lock(g_lock);
  --g_live;
  append(slot);
}

Address damaged_at(const Slot* slot) {
  const Address page = page_of(slot), end = page + g_page_bytes;
  for (Address a = slot->header.base + relaxed_load(slot->header.asked); a < end; ++a) {
    if (!is_whole_at(a)) return a;
  }
  for (Address a = slot->header.base; a > page; --a) {
    if (!is_whole_at(a - 1)) return a - 1;
  }
  return 0;
}

bool has(Address a) {
  const Address base = g_base.load(std::memory_order_acquire);
  return base != 0 && a - base < all_bytes();
}

const Slot* nearest(Address a) {
  const Address base = g_base.load(std::memory_order_acquire);
  const size_t page = (a - base) / g_page_bytes;
  if (page % 2 != 0) return g_slot[page / 2].is_used() ? &g_slot[page / 2] : nullptr;
  const Slot* before = page == 0 ? nullptr : &g_slot[page / 2 - 1];
  const Slot* behind = page / 2 == kSlots ? nullptr : &g_slot[page / 2];
  if (before == nullptr || !before->is_used()) return behind != nullptr && behind->is_used() ? behind : nullptr;
  if (behind == nullptr || !behind->is_used()) return before;
  return a - (before->block() + before->bytes()) <= behind->block() - a ? before : behind;
}

void at_fork(ForkStage stage) { g_lock.at_fork(stage); }

}  // namespace slots

Counts counts() {
  Lock lock(g_lock);
  return {g_made.load(std::memory_order_relaxed), g_live, g_refused.load(std::memory_order_relaxed), g_live * g_page_bytes};
}

}  // namespace acre::guard
