#include "control/caches.h"

#include <errno.h>

#include "cache/registry.h"
#include "control/this_thread.h"

namespace acre::ctl::caches {

namespace {

constexpr unsigned kWords = (kMost + 63) / 64;
constinit uint64_t g_used[kWords] ACRE_GUARDED_BY(registry::control_lock) = {};

bool is_used(unsigned cache) ACRE_REQUIRES(registry::control_lock) {
  return cache < kMost && (g_used[cache / 64] >> (cache % 64) & 1) != 0;
}

}  // namespace

int create(Call& call) {
  Lock lock(registry::control_lock);
  for (unsigned cache = 0; cache < kMost; ++cache) {
    if (is_used(cache)) continue;
    g_used[cache / 64] |= uint64_t{1} << (cache % 64);
    call.value = cache;
    return 0;
  }
  return EAGAIN;
}

int flush(Call& call) {
  {
    Lock lock(registry::control_lock);
    if (!is_used(call.to.as<unsigned>())) return EFAULT;
  }
  return thread_tcache_flush(call);
}

int destroy(Call& call) {
  if (const int error = flush(call)) return error;
  const auto cache = call.to.as<unsigned>();
  Lock lock(registry::control_lock);
  g_used[cache / 64] &= ~(uint64_t{1} << (cache % 64));
  return 0;
}

}  // namespace acre::ctl::caches
