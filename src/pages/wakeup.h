// The wake-up of the background thread (reclaim/background.h). Code that makes pages dirty, or sees activity on a tick,
// calls signal(): one load while the thread is awake or does not exist. The thread calls listen() before its last look
// for work, which takes the locks that guard the work. So code that adds work later finds the thread asleep.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/compiler.h"

namespace acre::wakeup {

enum State : uint32_t {
  kAwake,    // or there is no background thread
  kNapping,  // asleep for a short time; wake() ends the nap, signal() does not
  kAsleep,
};

extern std::atomic<uint32_t> g_state ACRE_HIDDEN;

void wake();

inline void signal() {
  if (ACRE_UNLIKELY(g_state.load(std::memory_order_relaxed) == kAsleep)) wake();
}

// For the background thread. From now on a signal ends the next sleep.
void listen();

// Returns true if a signal has come since listen(), false after so many milliseconds.
bool sleep(uint64_t ms);

// Sleeps for so many milliseconds, or until wake().
void nap(uint64_t ms);

// The thread ends, or this is the child of a fork.
void close();

}  // namespace acre::wakeup
