// What the process holds through acre, and the most that it may.
//
// Held are the pages of runs in use and of huge blocks, whether touched or not; dirty and muzzy pages, and those
// that are just being purged; metadata. So held bytes are those that may be resident, but for the unit table and
// the page map. They are counted where clean pages come into use and where pages become clean, so that whoever uses
// dirty pages again, and whoever takes a block out of a run, counts nothing.
//
// Two levels: the hard limit, beyond which memory is refused, and the *alarm*, beyond which somebody has to see to it
// (reclaim/pressure.h). All functions may be called by any thread at any time, under any lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/compiler.h"

namespace acre::limit {

// From here on acre looks at what the machine has to say about memory: smaller programs never do.
inline constexpr size_t kWatchedFrom = size_t{8} << 20;

extern std::atomic<size_t> g_held ACRE_HIDDEN;
extern std::atomic<size_t> g_hard ACRE_HIDDEN;
extern std::atomic<size_t> g_alarm ACRE_HIDDEN;

inline size_t held() { return g_held.load(std::memory_order_relaxed); }
inline size_t alarm() { return g_alarm.load(std::memory_order_relaxed); }
inline bool is_beyond_alarm() { return held() > alarm(); }

// More is held from now on. False: the hard limit would be passed, and nothing is counted.
bool take(size_t bytes);

// The same for metadata, which is counted but never refused: to give memory back takes some.
void take_in_any_case(size_t bytes);

void give_back(size_t bytes);

// Whether take() would be refused now.
bool refuses(size_t bytes);

// SIZE_MAX: none. The alarm is the lower of the soft limit and the ceiling, which is what the machine lets this process
// hold, as reclaim/pressure.cc works it out: at first kWatchedFrom, so that the first alarm is the call to do that.
void set_hard(size_t bytes);
void set_soft(size_t bytes);
void set_ceiling(size_t bytes);

// How often take() was refused.
uint64_t refusals();

}  // namespace acre::limit
