#include "reclaim/idle.h"

#include "cache/registry.h"
#include "cache/upcalls.h"
#include "os/os.h"

namespace acre::idle {

namespace {

// The least time between two looks is a hundred times what a processor takes to make an owner's store visible. More
// where there are many heaps, since each look goes over all of them.
constexpr uint64_t kWaitNs = 200'000;
constexpr uint64_t kWaitForHeapNs = 8'000;

constinit std::atomic<uint64_t> g_next_look_ms{0};  // for ticks
constexpr uint64_t kWhileLooking = UINT64_MAX;
constinit std::atomic<uint64_t> g_next_look_ns{0};  // by the fine clock: the coarse one may skip some milliseconds

// While the process grows, a heap without an event for this long loses runs that are half free, any other idle heap
// only runs that are nearly free.
constexpr uint64_t kLongStillNs = 3'000'000;

// False on a process's first tick: many processes end before they have a second tick.
bool my_turn(uint64_t now_ms) {
  uint64_t due = g_next_look_ms.load(std::memory_order_relaxed);
  return now_ms >= due && g_next_look_ms.compare_exchange_strong(due, now_ms + kIntervalMs) && due != 0;
}

void visit(Heap& heap, Take take) {
  Reclaim announced = Reclaim::kAnnounced;
  if (!heap.reclaim.compare_exchange_strong(announced, Reclaim::kUnderWay)) return;
  if (heap.inside.load(std::memory_order_acquire) == 0) {
    heap.outbox().flush();
    take_kept_runs(heap, take);
  }
  heap.reclaim.store(Reclaim::kNone, std::memory_order_release);
}

struct Round {
  const Heap* mine;
  bool grows;
  uint64_t now_ns;
  Look found = Look::kQuiet;
  unsigned heaps = 0;
};

ACRE_COLD void look_at(Heap& heap, void* argument) {
  Round& round = *static_cast<Round*>(argument);
  ++round.heaps;
  if (&heap == round.mine) return;
  const uint32_t events = relaxed_load(heap.events);
  if (heap.reclaim.load(std::memory_order_relaxed) == Reclaim::kAnnounced) {
    const bool is_long_still = round.now_ns >= heap.still_since_ns + kLongStillNs;
    visit(heap, !round.grows ? Take::kAll : is_long_still ? Take::kHalfFree : Take::kNearlyFree);
  } else if (events == heap.events_at_last_look) {
    heap.reclaim.store(Reclaim::kAnnounced, std::memory_order_release);
  }
  if (events == heap.events_at_last_look) return;
  round.found = Look::kBusy;
  heap.events_at_last_look = events;
  heap.still_since_ns = round.now_ns;
}

ACRE_COLD Look look_at_all(const Heap* mine, bool grows) {
  uint64_t due = g_next_look_ns.load(std::memory_order_relaxed);
  const uint64_t now = due == kWhileLooking ? 0 : os::now_ns();
  if (now < due || !g_next_look_ns.compare_exchange_strong(due, kWhileLooking)) return Look::kTooEarly;
  Round round{mine, grows, now};
  registry::for_each(look_at, &round);
  g_next_look_ns.store(os::now_ns() + kWaitNs + round.heaps * kWaitForHeapNs);
  return round.found;
}

}  // namespace

Look look_around(const Heap* mine, uint64_t now_ms) {
  return my_turn(now_ms) ? look_at_all(mine, false) : Look::kTooEarly;
}

// Another thread may have been looking.
void after_fork_in_child() { g_next_look_ns.store(0); }

}  // namespace acre::idle

namespace acre {

void reclaim_while_growing(const Heap& mine) { idle::look_at_all(&mine, true); }

}  // namespace acre
