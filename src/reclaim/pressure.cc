#include "reclaim/pressure.h"

#include <errno.h>

#include "os/cgroup.h"
#include "os/os.h"
#include "tables/options.h"

namespace acre::pressure {

namespace {

constexpr uint64_t kLookAgainMs = 100;  // between looks while the ceiling is passed
constexpr uint64_t kRetryMs = 1000;     // after purges were refused
constexpr size_t kReserveOfMost = 8;    // 1/8 of the cgroup's limit is for what others come to hold meanwhile
constexpr size_t kReserveOfHigh = 16;   // less of memory.high: it does no great harm to pass it
constexpr size_t kSlack = 64;           // 1/64 of the alarm is returned beyond the excess, so that it lasts
constexpr uint64_t kStallShare = 20;    // waiting for 1/20 of the time is pressure
constexpr size_t kStepOfCalls = 16;     // the program is called again when 1/16 of the soft limit more is held

constinit std::atomic<uint64_t> g_looked_ms{0};
constinit std::atomic<uint64_t> g_stall_us{os::kNoPressure};
constinit std::atomic<bool> g_stalls{false};
constinit std::atomic<size_t> g_group_most{SIZE_MAX};
constinit std::atomic<size_t> g_group_high{SIZE_MAX};
constinit std::atomic<size_t> g_ceiling{SIZE_MAX};
constinit std::atomic<uint64_t> g_retry_at_ms{0};

constinit Mutex g_lock{Rank::kCallback};
constinit Callback g_callback ACRE_GUARDED_BY(g_lock) = nullptr;
constinit void* g_argument ACRE_GUARDED_BY(g_lock) = nullptr;
constinit std::atomic<bool> g_calling{false};
constinit std::atomic<size_t> g_call_from{0};  // held bytes
constinit std::atomic<uint64_t> g_calls{0};

// --- Looking --------------------------------------------------------------------------------------------------

// What acre may hold for the group to stay below `level`, by the reserve.
size_t share_of(size_t level, size_t reserve, size_t others) {
  if (level == SIZE_MAX) return SIZE_MAX;
  const size_t wanted = level - level / reserve;
  return wanted - smaller(wanted, others);
}

// Others are all but acre: other processes, and stacks, mappings and the like of this one. Memory that acre holds and
// that was never touched uses nothing yet, but counts against the ceiling, since it may be touched at any time.
void look_at_group() {
  const os::CgroupMemory group = relaxed_load(options().cgroup) ? os::cgroup_memory() : os::CgroupMemory{};
  const size_t mine = group.used == 0 ? 0 : smaller(os::anonymous_bytes(), limit::held());
  const size_t others = group.used - smaller(group.used, mine);
  const size_t ceiling =
      smaller(share_of(group.most, kReserveOfMost, others), share_of(group.high, kReserveOfHigh, others));
  g_group_most.store(group.most, std::memory_order_relaxed);
  g_group_high.store(group.high, std::memory_order_relaxed);
  g_ceiling.store(ceiling, std::memory_order_relaxed);
  limit::set_ceiling(ceiling);
}

void look_at_stalls(uint64_t passed_ms) {
  const uint64_t stall = relaxed_load(options().pressure) ? os::memory_stall_us() : os::kNoPressure;
  const uint64_t before = g_stall_us.exchange(stall);
  const bool known = stall != os::kNoPressure && before != os::kNoPressure && stall >= before;
  g_stalls.store(known && (stall - before) * kStallShare > passed_ms * 1000, std::memory_order_relaxed);
}

// Does nothing before it is time. As a rule one thread looks at a time; more would do no harm.
ACRE_COLD void look(uint64_t now) {
  if (limit::held() < limit::kFirstAlarm) return;
  uint64_t looked = g_looked_ms.load(std::memory_order_relaxed);
  const bool at_ceiling = limit::held() > g_ceiling.load(std::memory_order_relaxed);
  if (looked != 0 && now < looked + (at_ceiling ? kLookAgainMs : kLookMs)) return;
  if (!g_looked_ms.compare_exchange_strong(looked, now)) return;
  look_at_group();
  look_at_stalls(now - looked);
  arenas::look_at_quota();
}

// --- Returning ------------------------------------------------------------------------------------------------

size_t excess_pages() {
  const size_t alarm = limit::alarm();
  const size_t held = limit::held();
  if (g_stalls.load(std::memory_order_relaxed) && held >= limit::kFirstAlarm) return SIZE_MAX;
  return held <= alarm ? 0 : pages_for(held - alarm + alarm / kSlack);
}

ACRE_COLD void return_excess(uint64_t now) {
  const size_t excess = excess_pages();
  if (excess == 0 || now < g_retry_at_ms.load(std::memory_order_relaxed)) return;
  const size_t dirty = arenas::dirty_pages();
  if (dirty == 0 || arenas::purge_all(dirty - smaller(dirty, excess)) != 0) return;
  g_retry_at_ms.store(now + kRetryMs, std::memory_order_relaxed);
}

// --- The program's function ---------------------------------------------------------------------------------

Callback callback_and(void** argument) {
  Lock lock(g_lock);
  *argument = g_argument;
  return g_callback;
}

enum class When { kIfDue, kInAnyCase };

// Calls the program if the soft limit is passed. Returns whether it was called.
ACRE_COLD bool call_program(When when) {
  const size_t soft = static_cast<size_t>(relaxed_load(options().soft_limit));
  const size_t held = limit::held();
  if (soft == 0 || held <= soft) {
    g_call_from.store(0, std::memory_order_relaxed);
    return false;
  }
  if (when == When::kIfDue && held < g_call_from.load(std::memory_order_relaxed)) return false;
  void* argument;
  const Callback callback = callback_and(&argument);
  if (callback == nullptr || Mutex::this_thread_forks() || g_calling.exchange(true)) return false;
  g_call_from.store(held + soft / kStepOfCalls, std::memory_order_relaxed);
  g_calls.fetch_add(1, std::memory_order_relaxed);
  const int saved_errno = errno;
  callback(held, soft, argument);
  errno = saved_errno;
  g_calling.store(false);
  return true;
}

}  // namespace

constinit std::atomic<uint64_t> g_attend_at_ms{kNever};

void set_limits() {
  const size_t hard = static_cast<size_t>(relaxed_load(options().hard_limit));
  const size_t soft = static_cast<size_t>(relaxed_load(options().soft_limit));
  limit::set_hard(hard == 0 ? SIZE_MAX : hard);
  limit::set_soft(soft == 0 ? SIZE_MAX : soft);
  if (soft != 0) g_attend_at_ms.store(0);
}

ACRE_COLD void attend(Heap& heap, uint64_t now_ms) {
  look(now_ms);
  return_excess(now_ms);
  if (call_program(When::kIfDue)) empty_heap(heap);  // callers of tick() may assume that no private list has grown
  const bool always = g_stalls.load(std::memory_order_relaxed) || relaxed_load(options().soft_limit) != 0;
  g_attend_at_ms.store(always ? 0 : now_ms + kLookMs, std::memory_order_relaxed);
}

ACRE_COLD uint64_t look_after(uint64_t now_ms) {
  look(now_ms);
  return_excess(now_ms);
  return limit::held() < limit::kFirstAlarm || arenas::dirty_pages() == 0 ? kNever : now_ms + kLookMs;
}

ACRE_COLD void before_refusal() { call_program(When::kInAnyCase); }

ACRE_COLD void return_for_hard_limit() {
  if (relaxed_load(options().hard_limit) != 0) arenas::purge_all();
}

ACRE_COLD void set_callback(Callback callback, void* argument) {
  Lock lock(g_lock);
  g_callback = callback;
  g_argument = argument;
}

ACRE_COLD const void* argument() ACRE_NO_THREAD_SAFETY_ANALYSIS { return g_argument; }

ACRE_COLD Found found() {
  return {g_ceiling.load(std::memory_order_relaxed), g_group_most.load(std::memory_order_relaxed),
          g_group_high.load(std::memory_order_relaxed), g_stalls.load(std::memory_order_relaxed),
          g_calls.load(std::memory_order_relaxed)};
}

void at_fork(ForkStage stage) {
  g_lock.at_fork(stage);
  if (stage == ForkStage::kInChild) g_calling.store(false);
}

}  // namespace acre::pressure
