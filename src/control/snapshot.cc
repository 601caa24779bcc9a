#include "control/snapshot.h"

#include "control/ctl.h"
#include "heap/explicit.h"
#include "heap/registry.h"
#include "pages/metadata.h"

namespace acre::ctl {

namespace {

constinit ArenaStatistics* g_arenas ACRE_GUARDED_BY(registry::control_lock) = nullptr;  // arenas::kFigures of them
constinit ArenaStatistics g_all ACRE_GUARDED_BY(registry::control_lock);
constinit size_t g_metadata ACRE_GUARDED_BY(registry::control_lock) = 0;
constinit bool g_background_thread ACRE_GUARDED_BY(registry::control_lock) = false;
constinit uint64_t g_epoch ACRE_GUARDED_BY(registry::control_lock) = 0;

// Huge blocks count as used pages: the sums are over all that the program has.
void take() ACRE_REQUIRES(registry::control_lock) {
  for (unsigned i = 0; i < arenas::kFigures; ++i) g_arenas[i] = {};
  const Statistics s = gather_statistics(g_arenas);
  g_all = {};
  for (unsigned i = 0; i < arenas::kFigures; ++i) {
    const ArenaStatistics& arena = g_arenas[i];
    g_all.threads += arena.threads;
    g_all.used_pages += arena.used_pages;
    g_all.slab_pages += arena.slab_pages;
    g_all.dirty_pages += arena.dirty_pages;
    g_all.muzzy_pages += arena.muzzy_pages;
    g_all.clean_pages += arena.clean_pages;
    g_all.small_bytes += arena.small_bytes;
    g_all.purges += arena.purges;
    g_all.purged_pages += arena.purged_pages;
  }
  g_all.used_pages += s.huge_bytes / kPageBytes;
  g_metadata = s.metadata;
  g_background_thread = s.background_thread == background::State::kRunning;
  ++g_epoch;
}

// Room for the figures; false when memory is refused. Made without the lock, which is held over no system call.
bool have_room() {
  {
    Lock lock(registry::control_lock);
    if (g_arenas != nullptr) return true;
  }
  void* room = metadata::allocate(arenas::kFigures * sizeof(ArenaStatistics));
  if (room == nullptr) return false;
  Lock lock(registry::control_lock);
  if (g_arenas == nullptr) g_arenas = static_cast<ArenaStatistics*>(room);  // else another thread was faster
  return true;
}

}  // namespace

bool refresh() {
  if (!have_room()) return false;
  Lock lock(registry::control_lock);
  take();
  return true;
}

bool refresh_once() {
  if (!have_room()) return false;
  Lock lock(registry::control_lock);
  if (g_epoch == 0) take();
  return true;
}

uint64_t epoch() {
  Lock lock(registry::control_lock);
  return g_epoch;
}

ArenaStatistics figures(size_t arena) {
  Lock lock(registry::control_lock);
  return arena == kAllArenas ? g_all : g_arenas[arena];
}

size_t metadata_bytes() {
  Lock lock(registry::control_lock);
  return g_metadata;
}

bool background_thread_runs() {
  Lock lock(registry::control_lock);
  return g_background_thread;
}

}  // namespace acre::ctl
