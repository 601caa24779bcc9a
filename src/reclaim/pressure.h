// Returns memory that acre keeps beyond what is in use when the option soft_limit is passed, the cgroup's limit is
// near, or the system is short of memory.
//
// All of this happens on ticks and in the background thread, with no lock held. pages/limit.h counts the held memory
// and has a level, the alarm. A thread that takes clean pages beyond the alarm has its next tick at once (tick_soon).
//
// Once a second, in programs that hold more than limit::kFirstAlarm, a tick reads the cgroup and the system's memory
// pressure (os/cgroup.h). The cgroup's limit, less what others hold in the cgroup and a reserve, is the ceiling of what
// acre may hold with dirty pages in it.
#pragma once

#include "base/mutex.h"
#include "cache/heap.h"
#include "pages/limit.h"

namespace acre::pressure {

inline constexpr uint64_t kLookMs = 1000;

// Takes the limits over from the options: at start, and when one has changed.
void set_limits();

// The slow part of on_tick().
void attend(Heap& heap, uint64_t now_ms);

// When attend() is due, alarms aside (ms): kNever until the first alarm, then each second; 0, which is always, while
// the system is short of memory or there is a soft limit.
extern std::atomic<uint64_t> g_attend_at_ms ACRE_HIDDEN;

// Called on each tick, with no lock held and all private lists as they are: returns dirty pages if it is time, and
// calls the program (acre_on_soft_limit), which may allocate and free, if the soft limit is still passed.
inline void on_tick(Heap& heap, uint64_t now_ms) {
  if (now_ms < g_attend_at_ms.load(std::memory_order_relaxed) && !limit::is_beyond_alarm()) return;
  attend(heap, now_ms);
}

// The same for the background thread, which does not call the program. Returns when it is due again (ms).
uint64_t look_after(uint64_t now_ms);

// Before a request is refused. before_refusal calls the program if the soft limit is passed; return_for_hard_limit
// returns all dirty pages if there is a hard limit.
void before_refusal();
void return_for_hard_limit();

// The program's function, or null. One thread at a time calls it, and never from within it.
using Callback = void (*)(size_t held, size_t limit, void* argument);
void set_callback(Callback callback, void* argument);
const void* argument();  // takes no lock: all other threads are stopped

// For the statistics: the results of the last look.
struct Found {
  size_t ceiling = SIZE_MAX;  // acre returns dirty pages beyond it, in bytes; SIZE_MAX: no cgroup limit
  size_t group_most = SIZE_MAX;
  size_t group_high = SIZE_MAX;
  bool stalls = false;        // threads wait for memory
  uint64_t calls = 0;         // of the program's function
};
Found found();

void at_fork(ForkStage stage);

}  // namespace acre::pressure
