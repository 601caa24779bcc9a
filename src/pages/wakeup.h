// How the background thread (reclaim/background.h) is woken when there is something for it to do. Whoever makes pages
// dirty, or finds on a tick that there is activity, rings: one load while the thread is awake, or is none.
//
// The thread says that it sleeps before it looks for the last time, under the locks that guard what it looks at. So
// who adds something under such a lock afterwards finds it asleep.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/compiler.h"

namespace acre::wakeup {

enum State : uint32_t {
  kDeaf,     // the thread is awake, or there is none
  kNapping,  // it rests for a short time, and only wake() ends that
  kAsleep,
};

extern std::atomic<uint32_t> g_state ACRE_HIDDEN;

// Ends a sleep or a nap.
void wake();

inline void ring() {
  if (ACRE_UNLIKELY(g_state.load(std::memory_order_relaxed) == kAsleep)) wake();
}

// For the thread. From now on a ring is heard.
void listen();

// Until the bell has rung since listen(), or the time is over (ms). True if it has rung.
bool sleep(uint64_t ms);

// For so many milliseconds, or until wake().
void nap(uint64_t ms);

// There is no such thread any more: it ends, or this is the child of a fork.
void close();

}  // namespace acre::wakeup
