// The wake-up of the background thread (reclaim/background.h). Code that makes pages dirty, or sees activity on a tick, calls
// signal(): one load while the thread is awake or there is none.
//
// The thread says that it sleeps before its last look at what there is to do, and takes the locks that guard these things for
// the look. So code that adds something under such a lock after the look finds the thread asleep.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/compiler.h"

namespace acre::wakeup {

enum State : uint32_t {
  kAwake,    // or there is no thread
  kNapping,  // for a short time, which only wake() ends
  kAsleep,
};

extern std::atomic<uint32_t> g_state ACRE_HIDDEN;

// Ends a sleep or a nap.
void wake();

inline void signal() {
  if (ACRE_UNLIKELY(g_state.load(std::memory_order_relaxed) == kAsleep)) wake();
}

// For the thread. From now on a signal ends the next sleep.
void listen();

// Until a signal has come since listen(), or the time is over (ms). True: a signal has come.
bool sleep(uint64_t ms);

// For so many milliseconds, or until wake().
void nap(uint64_t ms);

// There is no such thread any more: it ends, or this is the child of a fork.
void close();

}  // namespace acre::wakeup
