// What the process holds through acre, and the most that it may hold.
//
// Held are: pages of runs in use and of huge blocks, touched or not; dirty and muzzy pages; pages that are being
// purged; metadata. So all that may be resident is held, except the unit table and the page map. Counting takes place
// where clean pages come into use and where pages become clean, not where dirty pages are used again.
//
// Above the hard limit memory is refused. Above the *alarm* dirty pages should be purged (reclaim/pressure.h). Any
// thread may call these functions at any time, under any lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/compiler.h"
#include "pages/purge_for_growth.h"

namespace acre::limit {

// From this size on acre looks at the cgroup and at the system's memory pressure. Smaller programs never do.
inline constexpr size_t kFirstAlarm = size_t{8} << 20;

// What each thread that takes clean pages writes first and reads then: one cache line, which moves to it once.
struct alignas(kCacheLine) Line {
  std::atomic<size_t> held{0};
  std::atomic<size_t> alarm{kFirstAlarm};
  PurgeForGrowth purge_for_growth;
};
extern Line g_line ACRE_HIDDEN;

inline size_t held() { return g_line.held.load(std::memory_order_relaxed); }
inline size_t alarm() { return g_line.alarm.load(std::memory_order_relaxed); }
inline bool is_beyond_alarm() { return held() > alarm(); }

// Counts `bytes` more as held. Returns false, with nothing counted, if the hard limit would be passed.
bool take(size_t bytes);

// The same for metadata, without a limit, since giving memory back needs some of it.
void take_in_any_case(size_t bytes);

void give_back(size_t bytes);

// Whether take() would be refused now.
bool refuses(size_t bytes);

// SIZE_MAX: no limit. The alarm is the lower of the soft limit and the ceiling, which is what the machine lets this
// process hold. reclaim/pressure.cc works it out. It begins as kFirstAlarm, so that the first alarm starts that work.
void set_hard(size_t bytes);
void set_soft(size_t bytes);
void set_ceiling(size_t bytes);

uint64_t refusals();

}  // namespace acre::limit
