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

unsigned create(int* error) {
  Lock lock(registry::control_lock);
  for (unsigned cache = 0; cache < kMost; ++cache) {
    if (is_used(cache)) continue;
    g_used[cache / 64] |= uint64_t{1} << (cache % 64);
    return cache;
  }
  *error = EAGAIN;
  return 0;
}

int flush(unsigned cache) {
  {
    Lock lock(registry::control_lock);
    if (!is_used(cache)) return EFAULT;
  }
  return flush_thread();
}

int destroy(unsigned cache) {
  if (const int error = flush(cache)) return error;
  Lock lock(registry::control_lock);
  g_used[cache / 64] &= ~(uint64_t{1} << (cache % 64));
  return 0;
}

}  // namespace acre::ctl::caches
