#include "heap/idle.h"

#include "heap/registry.h"

namespace acre::idle {

namespace {

constinit std::atomic<uint64_t> g_next_look_ms{0};

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
  Look found;
};

void look_at(Heap& heap, void* argument) {
  Round& round = *static_cast<Round*>(argument);
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

}  // namespace

Look look_around(const Heap* mine, uint64_t now_ms) {
  if (!my_turn(now_ms)) return Look::kTooEarly;
  Round round{mine, Look::kQuiet};
  registry::for_each(look_at, &round);
  return round.found;
}

ACRE_COLD void turn_away_visitor(Heap& heap) {
  for (Visit seen = Visit::kAnnounced; !heap.visit.compare_exchange_strong(seen, Visit::kNone);
       seen = Visit::kAnnounced) {
    if (seen == Visit::kNone) return;
    registry::wait_for_visits();
  }
}

}  // namespace acre::idle
