// Memory that acre keeps beyond what is in use, when it had better not: the option soft_limit is passed, the cgroup's
// limit is near, or the system is short of memory.
//
// All of it happens on ticks and in the background thread, outside of all locks. pages/limit.h counts what is held and
// knows a level, the alarm; whoever takes clean pages beyond it comes to its next tick at once (tick_soon).
//
// Once a second, in programs that hold more than limit::kWatchedFrom, some tick looks at the cgroup and at the
// system's memory pressure (os/cgroup.h). What others hold in the cgroup is taken off its limit; the rest, less a
// reserve, is the ceiling of what acre may hold with dirty pages in it.
#pragma once

#include "base/mutex.h"
#include "cache/heap.h"
#include "pages/limit.h"

namespace acre::pressure {

inline constexpr uint64_t kLookMs = 1000;

// Takes over the limits from the options: at start, and when one has changed.
void set_limits();

// The rest of on_tick.
void attend(Heap& heap, uint64_t now_ms);

// When there is something to attend to, but for the alarm (ms): kNever until it has rung for the first time, then each
// second; 0, always, while the system is short of memory or there is a soft limit.
extern std::atomic<uint64_t> g_attend_at_ms ACRE_HIDDEN;

// On each tick, with no lock held and all private lists as they are: returns dirty pages if it is time, and calls the
// program (acre_on_soft_limit) if the soft limit is passed nevertheless. The program may allocate and free meanwhile.
inline void on_tick(Heap& heap, uint64_t now_ms) {
  if (now_ms < g_attend_at_ms.load(std::memory_order_relaxed) && !limit::is_beyond_alarm()) return;
  attend(heap, now_ms);
}

// The same for the background thread, without a call of the program. When it is to be called again (ms).
uint64_t look_after(uint64_t now_ms);

// Before a request is refused: calls the program if the soft limit is passed; and returns all dirty pages if there is a
// hard limit.
void before_refusal();
void return_for_hard_limit();

// The program's function, or null. It is called by one thread at a time, and not from within itself.
using Callback = void (*)(size_t held, size_t limit, void* argument);
void set_callback(Callback callback, void* argument);

// For the statistics: what the last look found.
struct Found {
  size_t ceiling = SIZE_MAX;  // bytes that acre may hold before it returns dirty pages at once; SIZE_MAX: no cgroup limit
  size_t group_most = SIZE_MAX;
  size_t group_high = SIZE_MAX;
  bool stalls = false;        // threads wait for memory
  uint64_t calls = 0;         // of the program
};
Found found();

void at_fork(ForkStage stage);

}  // namespace acre::pressure
