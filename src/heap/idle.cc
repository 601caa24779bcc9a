#include "heap/idle.h"

#include "heap/registry.h"
#include "os/os.h"

namespace acre::idle {

namespace {

// In the shortest time between two looks others come to see what an owner has stored.
constexpr uint64_t kShortestWaitNs = 2'000'000;

// While the process grows there are looks as often as that, unless visits turn out to be wrong: owners come back soon, that
// had only to wait for a processor. And fewer where there are many heaps, since each look goes over all of them.
constexpr uint64_t kLongestWaitNs = kIntervalMs * 1'000'000;
constexpr uint64_t kLongerWhenMissed = 8;
constexpr uint64_t kShorterOtherwise = 8;  // by this part of it
constexpr uint64_t kWaitForHeapNs = 8'000;

constinit std::atomic<uint64_t> g_next_look_ms{0};  // on a tick
constexpr uint64_t kWhileLooking = UINT64_MAX;
constinit std::atomic<uint64_t> g_last_look_ns{0};  // by the fine clock: the coarse one may skip some milliseconds
constinit std::atomic<uint64_t> g_wait_ns{kShortestWaitNs};
constinit std::atomic<uint64_t> g_wait_for_heaps_ns{0};
constinit std::atomic<bool> g_was_missed{false};

bool my_turn(uint64_t now_ms) {
  uint64_t due = g_next_look_ms.load(std::memory_order_relaxed);
  return now_ms >= due && g_next_look_ms.compare_exchange_strong(due, now_ms + kIntervalMs);
}

void visit(Heap& heap) {
  Visit announced = Visit::kAnnounced;
  if (!heap.visit.compare_exchange_strong(announced, Visit::kAtWork)) return;
  if (heap.inside.load(std::memory_order_acquire) == 0) {
    heap.outbox.flush();
    take_kept_runs(heap);
  }
  heap.visit.store(Visit::kNone, std::memory_order_release);
}

struct Round {
  const Heap* mine;
  Look found = Look::kQuiet;
  unsigned heaps = 0;
};

void look_at(Heap& heap, void* argument) {
  Round& round = *static_cast<Round*>(argument);
  ++round.heaps;
  if (&heap == round.mine) return;
  const uint32_t events = relaxed_load(heap.events);
  if (heap.visit.load(std::memory_order_relaxed) == Visit::kAnnounced) {
    visit(heap);
  } else if (events == heap.events_at_last_look) {
    heap.visit.store(Visit::kAnnounced, std::memory_order_release);
  }
  if (events != heap.events_at_last_look) round.found = Look::kBusy;
  heap.events_at_last_look = events;
}

// wait: the least time since the last look.
Look look_at_all(const Heap* mine, uint64_t wait_ns) {
  uint64_t last = g_last_look_ns.load(std::memory_order_relaxed);
  if (last == kWhileLooking || os::now_ns() < last + wait_ns) return Look::kTooEarly;
  if (!g_last_look_ns.compare_exchange_strong(last, kWhileLooking)) return Look::kTooEarly;
  Round round{mine};
  registry::for_each(look_at, &round);
  g_wait_for_heaps_ns.store(round.heaps * kWaitForHeapNs, std::memory_order_relaxed);
  g_last_look_ns.store(os::now_ns());
  return round.found;
}

}  // namespace

Look look_around(const Heap* mine, uint64_t now_ms) {
  return my_turn(now_ms) ? look_at_all(mine, kShortestWaitNs) : Look::kTooEarly;
}

void look_while_growing(const Heap& mine) {
  const uint64_t wait = g_wait_ns.load(std::memory_order_relaxed);
  const uint64_t for_heaps = g_wait_for_heaps_ns.load(std::memory_order_relaxed);
  if (look_at_all(&mine, wait + for_heaps) == Look::kTooEarly) return;
  g_wait_ns.store(next_wait(wait, g_was_missed.exchange(false)), std::memory_order_relaxed);
}

uint64_t next_wait(uint64_t wait_ns, bool was_missed) {
  return was_missed ? smaller(wait_ns * kLongerWhenMissed, kLongestWaitNs)
                    : larger(wait_ns - wait_ns / kShorterOtherwise, kShortestWaitNs);
}

void missed() { g_was_missed.store(true, std::memory_order_relaxed); }

// Some other thread may have been looking.
void after_fork_in_child() {
  g_last_look_ns.store(0);
  g_wait_ns.store(kShortestWaitNs);
}

ACRE_COLD void turn_away_visitor(Heap& heap) {
  for (Visit seen = Visit::kAnnounced; !heap.visit.compare_exchange_strong(seen, Visit::kNone);
       seen = Visit::kAnnounced) {
    if (seen == Visit::kNone) return;
    registry::wait_for_visits();
  }
}

}  // namespace acre::idle
