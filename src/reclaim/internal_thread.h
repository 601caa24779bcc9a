// What the heap tells threads of acre's own: the background thread (background.h), and above the heap the one that answers
// at the socket (live/socket.h).
#pragma once

#include <atomic>

#include "cache/heap.h"
#include "tables/options.h"

namespace acre::internal_thread {

// Whether nobody wants to know of ticks, as in most processes. Found out on a tick (is_wanted); whoever begins to want it
// clears it afterwards.
inline constinit std::atomic<bool> g_nobody{false};

// On each tick, with no lock held. It may allocate; a private list of the heap must not have grown when it returns.
// Null: not now.
inline constinit std::atomic<void (*)(Heap& heap)> g_on_tick{nullptr};

inline bool somebody_listens() {
  return relaxed_load(options().background_thread) || g_on_tick.load() != nullptr;
}

// On a tick: does somebody want to know of it?
inline bool is_wanted() {
  if (ACRE_LIKELY(g_nobody.load(std::memory_order_relaxed))) return false;
  if (somebody_listens()) return true;
  g_nobody.store(true);
  if (somebody_listens()) g_nobody.store(false);  // since just now
  return false;
}

// Set and told from the next tick on.
inline void tell_of_ticks(void (*call)(Heap& heap)) {
  g_on_tick.store(call);
  g_nobody.store(false);
}

// The last thread with a heap ends, in this thread, which may wait. Null: nobody wants to know.
inline constinit std::atomic<void (*)()> g_on_last_thread{nullptr};

}  // namespace acre::internal_thread
