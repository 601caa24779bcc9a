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

// What a step may look at, under the registry's lock and inside some thread's malloc.
constexpr unsigned kMostHeaps = 64;
constexpr unsigned kMostRuns = 64;

// A look at all heaps, in as many steps as it takes. For the thread that has set next_ns to kWhileLooking.
struct Round {
  Look found = Look::kQuiet;
  unsigned heaps = 0;
};

// Threads that grow read it for each new run, so it lies apart.
struct alignas(kCacheLine) Looks {
  std::atomic<uint64_t> next_ns{0};  // by the fine clock: the coarse one may skip some milliseconds
  std::atomic<uint64_t> next_ms{0};  // for ticks
  Round round;
};
constexpr uint64_t kWhileLooking = UINT64_MAX;
constinit Looks g_looks;

// While the process grows, a heap without an event for this long loses runs that are half free, any other idle heap
// only runs that are nearly free.
constexpr uint64_t kLongStillNs = 3'000'000;

// False on a process's first tick: many processes end before they have a second tick.
bool my_turn(uint64_t now_ms) {
  uint64_t due = g_looks.next_ms.load(std::memory_order_relaxed);
  return now_ms >= due && g_looks.next_ms.compare_exchange_strong(due, now_ms + kIntervalMs) && due != 0;
}

// Returns false if it has to go on in a later step: the reclaim stays announced, and the owner can withdraw it.
bool visit(Heap& heap, Take take, unsigned& most_runs) {
  Reclaim announced = Reclaim::kAnnounced;
  if (!heap.reclaim.compare_exchange_strong(announced, Reclaim::kUnderWay)) return true;
  bool is_done = true;
  if (heap.inside.load(std::memory_order_acquire) == 0) {
    heap.outbox().flush();
    is_done = take_kept_runs(heap, take, most_runs);
  }
  heap.reclaim.store(is_done ? Reclaim::kNone : Reclaim::kAnnounced, std::memory_order_release);
  return is_done;
}

struct Step {
  const Heap* mine;
  bool grows;
  uint64_t now_ns;
  unsigned most_heaps = kMostHeaps;
  unsigned most_runs = kMostRuns;
};

// Returns false if the next step begins with this heap.
ACRE_COLD bool look_at(Heap& heap, void* argument) {
  Step& step = *static_cast<Step*>(argument);
  if (step.most_heaps == 0) return false;
  --step.most_heaps;
  if (&heap != step.mine) {
    const uint32_t events = relaxed_load(heap.events);
    if (heap.reclaim.load(std::memory_order_relaxed) == Reclaim::kAnnounced) {
      const bool is_long_still = step.now_ns >= heap.still_since_ns + kLongStillNs;
      const Take take = !step.grows ? Take::kAll : is_long_still ? Take::kHalfFree : Take::kNearlyFree;
      if (!visit(heap, take, step.most_runs)) return false;
    } else if (events == heap.events_at_last_look) {
      heap.taken_up_to = {};
      heap.reclaim.store(Reclaim::kAnnounced, std::memory_order_release);
    }
    if (events != heap.events_at_last_look) {
      g_looks.round.found = Look::kBusy;
      heap.events_at_last_look = events;
      heap.still_since_ns = step.now_ns;
    }
  }
  ++g_looks.round.heaps;
  return true;
}

ACRE_COLD Look take_step(const Heap* mine, bool grows) {
  uint64_t due = g_looks.next_ns.load(std::memory_order_relaxed);
  const uint64_t now = due == kWhileLooking ? 0 : os::now_ns();
  if (now < due || !g_looks.next_ns.compare_exchange_strong(due, kWhileLooking)) return Look::kTooEarly;
  Step step{mine, grows, now};
  if (!registry::for_each_in_turn(look_at, &step)) {
    g_looks.next_ns.store(0);  // the other heaps have waited since the last round
    return Look::kNotDone;
  }
  const Round round = g_looks.round;
  g_looks.round = {};
  g_looks.next_ns.store(os::now_ns() + kWaitNs + round.heaps * kWaitForHeapNs);
  return round.found;
}

}  // namespace

Look look_around(const Heap* mine, uint64_t now_ms) {
  if (!my_turn(now_ms)) return Look::kTooEarly;
  const Look look = take_step(mine, false);
  if (look == Look::kNotDone) g_looks.next_ms.store(now_ms, std::memory_order_relaxed);
  return look;
}

// Another thread may have been looking.
void after_fork_in_child() {
  g_looks.round = {};
  g_looks.next_ns.store(0);
}

}  // namespace acre::idle

namespace acre {

void reclaim_while_growing(const Heap& mine) { idle::take_step(&mine, true); }

}  // namespace acre
