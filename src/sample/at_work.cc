#include "sample/at_work.h"

#include <atomic>

#include "os/os.h"

namespace acre {

namespace {

constexpr int kPlaces = 64;  // a thread that finds no free place waits for one
constinit std::atomic<ThreadToken> g_at_work[kPlaces];
constinit std::atomic<int> g_ever_taken{0};  // places from this index on were never taken
constinit std::atomic<uint32_t> g_awaited{0};  // 1: a thread sleeps until a place is free

bool is_at_work(ThreadToken thread) {
  for (int i = 0; i < g_ever_taken.load(std::memory_order_relaxed); ++i) {
    if (g_at_work[i].load(std::memory_order_relaxed) == thread) return true;
  }
  return false;
}

void note_about_to_take(int place) {
  int ever = g_ever_taken.load(std::memory_order_relaxed);
  while (place >= ever && !g_ever_taken.compare_exchange_weak(ever, place + 1, std::memory_order_relaxed)) {}
}

int take_place(ThreadToken thread) {
  for (int i = 0; i < kPlaces; ++i) {
    if (g_at_work[i].load() != kNoThread) continue;
    note_about_to_take(i);
    ThreadToken nobody = kNoThread;
    if (g_at_work[i].compare_exchange_strong(nobody, thread)) return i;
  }
  return -1;
}

// Those that have a place may wait for a lock of the unwinder's or the loader's, and this thread may hold that lock. Such
// a thread goes on without a place, as if it were at work already.
constexpr uint64_t kMostWaitMs = 100;

// g_awaited is set before the search: a thread that frees a place after the search sees that it has to wake this one.
ACRE_COLD int wait_for_place(ThreadToken thread) {
  const uint64_t begin = os::now_ms();
  for (;;) {
    g_awaited.store(1);
    const int place = take_place(thread);
    if (place >= 0 || os::now_ms() - begin > kMostWaitMs) return place;
    os::wait_while(g_awaited, 1, kMostWaitMs);
  }
}

}  // namespace

AtWork::AtWork() {
  if (is_at_work(this_thread())) return;
  place_ = take_place(this_thread());
  if (place_ < 0) place_ = wait_for_place(this_thread());
}

AtWork::~AtWork() {
  if (place_ < 0) return;
  g_at_work[place_].store(kNoThread);
  if (ACRE_UNLIKELY(g_awaited.load() != 0) && g_awaited.exchange(0) != 0) os::wake(g_awaited);
}

void AtWork::after_fork_in_child() {
  for (auto& place : g_at_work) {
    if (place.load(std::memory_order_relaxed) != this_thread()) place.store(kNoThread, std::memory_order_relaxed);
  }
}

}  // namespace acre
