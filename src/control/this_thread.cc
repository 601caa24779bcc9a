#include "control/this_thread.h"

#include <errno.h>

#include "cache/registry.h"
#include "cache/thread_bytes.h"
#include "manual/binding.h"
#include "os/os.h"

namespace acre::ctl {

namespace {

constinit const ThreadBytes kNoBytes;

Heap* looked_at() {
  Heap* heap = registry::heap_of_caller();
  if (heap != nullptr) thread_bytes::look(*heap);
  return heap;
}

}  // namespace

static int set_arena_of_thread(unsigned index) {
  ManualArena* manual = arenas::manual_at(index);
  if (manual == nullptr && index >= arenas::most()) return EFAULT;
  Heap* heap = registry::heap_of_caller();
  Arena* arena = manual != nullptr ? &manual->arena : registry::arena_at(index);
  if (heap == nullptr || arena == nullptr) return EAGAIN;
  const bool is_there = manual == nullptr && heap->arena == arena;
  if (!is_there) empty_heap(*heap);
  if (!is_there && manual == nullptr) registry::move_to_arena(*heap, arena);
  binding::bind(*heap, manual);
  return 0;
}

int thread_arena(Call& call) {
  if (call.is_told) return set_arena_of_thread(call.to.as<unsigned>());
  Heap* heap = registry::heap_of_caller();
  if (heap == nullptr) return t_heap == &kUninitializedHeap ? EAGAIN : 0;
  const ManualArena* manual = binding::of(*heap);
  call.value = manual != nullptr ? manual->arena.index : heap->arena->index;
  return 0;
}

const ThreadBytes* bytes_of_thread() {
  const Heap* heap = looked_at();
  return heap == nullptr ? &kNoBytes : &heap->bytes;
}

const ThreadBytes* tracked_bytes_of_thread() {
  Heap* heap = looked_at();
  if (heap == nullptr) return &kNoBytes;
  heap->bytes.is_tracked = true;
  return &heap->bytes;
}

int thread_peak_reset(Call&) {
  Heap* heap = looked_at();
  if (heap == nullptr) return 0;
  heap->bytes.is_tracked = true;
  thread_bytes::reset_peak(heap->bytes);
  return 0;
}

int thread_tcache_flush(Call&) {
  if (Heap* heap = heap_if_any()) empty_heap(*heap);
  return 0;
}

int thread_idle(Call& call) {
  thread_tcache_flush(call);
  if (const Heap* heap = heap_if_any()) heap->arena->pages.decay(os::now_ms());
  return 0;
}

static bool has_heap() {
  return (t_heap == &kUninitializedHeap ? registry::initialize_thread() : heap_if_any()) != nullptr;
}
int thread_tcache_enabled(Call& call) {
  const auto on = call.to.as<bool>();
  call.value = has_heap();
  if (!call.is_told || on == has_heap()) return 0;
  on ? registry::take_heap_back() : registry::put_heap_aside();
  return on == has_heap() ? 0 : EFAULT;
}

// --- tcache.* ---------------------------------------------------------------------------------------------------

namespace caches {

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

}  // namespace caches

}  // namespace acre::ctl
