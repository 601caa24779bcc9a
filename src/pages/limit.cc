#include "pages/limit.h"

#include "base/units.h"

namespace acre::limit {

constinit Line g_line;

namespace {

constinit std::atomic<size_t> g_hard{SIZE_MAX};
constinit std::atomic<size_t> g_soft{SIZE_MAX};
constinit std::atomic<size_t> g_ceiling{kFirstAlarm};
constinit std::atomic<uint64_t> g_refusals{0};

bool passes(size_t held, size_t more) {
  const size_t hard = g_hard.load(std::memory_order_relaxed);
  return more > hard || held > hard - more;
}

void set_alarm() { g_line.alarm.store(smaller(g_soft.load(), g_ceiling.load())); }

}  // namespace

bool take(size_t bytes) {
  if (ACRE_LIKELY(g_hard.load(std::memory_order_relaxed) == SIZE_MAX)) {
    take_in_any_case(bytes);
    return true;
  }
  size_t held = g_line.held.load(std::memory_order_relaxed);
  do {
    if (passes(held, bytes)) {
      g_refusals.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
  } while (!g_line.held.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));
  return true;
}

void take_in_any_case(size_t bytes) { g_line.held.fetch_add(bytes, std::memory_order_relaxed); }
void give_back(size_t bytes) { g_line.held.fetch_sub(bytes, std::memory_order_relaxed); }
bool refuses(size_t bytes) { return passes(held(), bytes); }

void set_hard(size_t bytes) { g_hard.store(bytes); }

void set_soft(size_t bytes) {
  g_soft.store(bytes);
  set_alarm();
}

void set_ceiling(size_t bytes) {
  g_ceiling.store(bytes);
  set_alarm();
}

uint64_t refusals() { return g_refusals.load(std::memory_order_relaxed); }

}  // namespace acre::limit
