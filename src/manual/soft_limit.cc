// The soft limit of a manual arena. It is checked after each allocation in the arena, with no lock held.
#include <errno.h>

#include "base/mutex.h"
#include "manual/manual_arena.h"
#include "os/os.h"

namespace acre::arenas {

namespace {

constexpr size_t kSlack = 64;        // 1/64 of the limit is returned beyond the excess, so that it lasts
constexpr size_t kStepOfCalls = 16;  // the program is called again when 1/16 of the limit more is in use
constexpr uint64_t kRetryMs = 1000;  // after purges were refused

void return_excess(ManualArena& arena, size_t most) {
  PageHeap& pages = arena.arena.pages;
  const size_t dirty = pages.dirty_pages() + pages.muzzy_pages();
  const size_t held = bytes_in_use(arena) + dirty * kPageBytes;
  if (dirty == 0 || held <= most) return;
  const uint64_t now = os::now_ms();
  if (now < arena.soft_limit.purge_from_ms.load(std::memory_order_relaxed)) return;
  if (pages.purge_to(dirty - smaller(dirty, pages_for(held - most + most / kSlack))) != 0) return;
  arena.soft_limit.purge_from_ms.store(now + kRetryMs, std::memory_order_relaxed);
}

}  // namespace

bool attend_soft_limit(ManualArena& arena, bool refused) {
  SoftLimit& soft = arena.soft_limit;
  const size_t most = soft.bytes.load(std::memory_order_relaxed);
  return_excess(arena, most);
  const size_t used = bytes_in_use(arena);
  if (used <= most) {
    soft.call_from.store(0, std::memory_order_relaxed);
    return false;
  }
  if (soft.callback == nullptr || (!refused && used < soft.call_from.load(std::memory_order_relaxed))) return false;
  if (Mutex::this_thread_forks() || soft.calling.exchange(true)) return false;
  soft.call_from.store(used + most / kStepOfCalls, std::memory_order_relaxed);
  const int saved_errno = errno;
  soft.callback(reinterpret_cast<acre_heap*>(&arena), used, soft.argument);
  errno = saved_errno;
  soft.calling.store(false);
  return true;
}

void set_soft_limit(ManualArena& arena, const ArenaSettings& settings) {
  SoftLimit& soft = arena.soft_limit;
  soft.bytes.store(settings.soft_limit, std::memory_order_relaxed);
  soft.callback = settings.on_soft_limit;
  soft.argument = settings.argument;
  soft.call_from.store(0, std::memory_order_relaxed);
  soft.purge_from_ms.store(0, std::memory_order_relaxed);
}

}  // namespace acre::arenas
