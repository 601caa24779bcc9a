// Calls to acre's internal threads: the background thread (background.h), and the one that answers at the socket
// (live/socket.h).
#pragma once

#include <atomic>

#include "cache/heap.h"
#include "tables/options.h"

namespace acre::internal_thread {

// Whether no internal thread wants to be told of ticks, as in most processes. A tick finds that out (is_wanted); code
// that begins to want ticks clears it afterwards.
inline constinit std::atomic<bool> g_nobody{false};

// Called on each tick, with no lock held; null: not now. It may allocate, but may not leave a private list of the heap
// longer than before.
inline constinit std::atomic<void (*)(Heap& heap)> g_on_tick{nullptr};

inline bool somebody_listens() {
  return relaxed_load(options().background_thread) || g_on_tick.load() != nullptr;
}

// On a tick: whether an internal thread wants to be told of it.
inline bool is_wanted() {
  if (ACRE_LIKELY(g_nobody.load(std::memory_order_relaxed))) return false;
  if (somebody_listens()) return true;
  g_nobody.store(true);
  if (somebody_listens()) g_nobody.store(false);  // it began to just now
  return false;
}

// Sets g_on_tick, which is called from the next tick on.
inline void tell_of_ticks(void (*call)(Heap& heap)) {
  g_on_tick.store(call);
  g_nobody.store(false);
}

// Called after looks at all heaps (idle.h), at most four times a second, and on each pass of the background thread, with
// no lock held; null: not called. heap: the calling thread's, which on_tick's conditions hold for; null in the background
// thread. Returns when an idle process should call again (ms).
inline constinit std::atomic<uint64_t (*)(Heap* heap, uint64_t now_ms)> g_on_look{nullptr};

inline uint64_t tell_of_look(Heap* heap, uint64_t now_ms) {
  const auto call = g_on_look.load(std::memory_order_relaxed);
  return call == nullptr ? kNever : call(heap, now_ms);
}

// Called in the child of a fork; null: not called.
inline constinit std::atomic<void (*)()> g_after_fork_in_child{nullptr};

// Threads that wait without an end, for signals and the like. In the last thread with a heap, when it ends, these calls end
// them: else the C library never sees the process's last thread end.
enum class Waiting : unsigned { kProfiler, kLastDump, kLeaks, kCount };
inline constinit std::atomic<void (*)()> g_end_waiting[static_cast<unsigned>(Waiting::kCount)] = {};
inline void end_with_last_thread(Waiting which, void (*end)()) {
  g_end_waiting[static_cast<unsigned>(which)].store(end, std::memory_order_relaxed);
}

// Called in the last thread with a heap when it ends; may wait. Null: not called.
inline constinit std::atomic<void (*)()> g_on_last_thread{nullptr};

}  // namespace acre::internal_thread
