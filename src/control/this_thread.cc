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

unsigned arena_of_thread(int* error) {
  Heap* heap = registry::heap_of_caller();
  if (heap == nullptr && t_heap == &kUninitializedHeap) *error = EAGAIN;
  if (heap == nullptr) return 0;
  const ManualArena* manual = binding::of(*heap);
  return manual != nullptr ? manual->arena.index : heap->arena->index;
}

int set_arena_of_thread(unsigned index) {
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

int reset_peak_of_thread() {
  Heap* heap = looked_at();
  if (heap == nullptr) return 0;
  heap->bytes.is_tracked = true;
  thread_bytes::reset_peak(heap->bytes);
  return 0;
}

int flush_thread() {
  if (Heap* heap = heap_if_any()) empty_heap(*heap);
  return 0;
}

int idle_thread() {
  flush_thread();
  if (const Heap* heap = heap_if_any()) heap->arena->pages.decay(os::now_ms());
  return 0;
}

bool thread_has_cache() { return t_heap == &kUninitializedHeap ? registry::initialize_thread() != nullptr : heap_if_any() != nullptr; }

int set_thread_has_cache(bool on) {
  if (on == thread_has_cache()) return 0;
  on ? registry::take_heap_back() : registry::put_heap_aside();
  return on == thread_has_cache() ? 0 : EFAULT;
}

}  // namespace acre::ctl
