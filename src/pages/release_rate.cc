#include "pages/release_rate.h"

#include <atomic>

#include "base/units.h"
#include "pages/wakeup.h"

namespace acre::release_rate {

namespace {

constexpr uint64_t kSecondMs = 1000;
constexpr uint64_t kLookMs = 100;

constinit std::atomic<int64_t> g_rate{kByDecay};
constinit std::atomic<uint64_t> g_spent_until_ms{0};  // the budget of the time up to this moment is spent

// The time whose budget pays for these pages, rounded up.
uint64_t time_for(size_t pages, uint64_t rate) { return (pages * kPageBytes * kSecondMs + rate - 1) / rate; }

uint64_t budget_start(uint64_t spent_until, uint64_t now, uint64_t rate) {
  const uint64_t most = larger(kSecondMs, time_for(1, rate));
  return now > most ? larger(spent_until, now - most) : spent_until;
}

}  // namespace

void set(int64_t bytes_per_second) {
  g_rate.store(bytes_per_second);
  wakeup::signal();
}

int64_t get() { return g_rate.load(std::memory_order_relaxed); }

ACRE_COLD size_t take(uint64_t now, size_t wanted) {
  if (get() <= 0) return 0;
  const uint64_t rate = static_cast<uint64_t>(get());
  uint64_t spent = g_spent_until_ms.load(std::memory_order_relaxed);
  for (;;) {
    const uint64_t start = budget_start(spent, now, rate);
    if (start >= now) return 0;
    const uint64_t bytes = (now - start) * rate / kSecondMs;
    const size_t pages = smaller<size_t>(bytes / kPageBytes, wanted);
    if (pages == 0) return 0;
    const uint64_t until = start + time_for(pages, rate);
    if (g_spent_until_ms.compare_exchange_weak(spent, until, std::memory_order_relaxed)) return pages;
  }
}

uint64_t next(uint64_t now) {
  const uint64_t rate = static_cast<uint64_t>(larger<int64_t>(get(), 1));
  const uint64_t start = budget_start(g_spent_until_ms.load(std::memory_order_relaxed), now, rate);
  return start + larger(kLookMs, time_for(1, rate));
}

}  // namespace acre::release_rate
