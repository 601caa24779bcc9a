#include "observe/hooks.h"

#include <atomic>

#include "base/mutex.h"
#include "cache/registry.h"
#include "observe/sampler.h"
#include "observe/trace.h"

namespace acre::hooks {

constinit bool g_on = false;

namespace {

template <class Hook>
class Set {
 public:
  bool replace(Hook from, Hook to) {
    for (auto& place : hooks_) {
      Hook expected = from;
      if (place.compare_exchange_strong(expected, to)) return true;
    }
    return false;
  }
  bool any() const {
    for (const auto& place : hooks_) {
      if (place.load(std::memory_order_relaxed) != nullptr) return true;
    }
    return false;
  }
  template <class... Arguments>
  void call(Arguments... arguments) const {
    for (const auto& place : hooks_) {
      if (Hook hook = place.load(std::memory_order_acquire)) hook(arguments...);
    }
  }

 private:
  std::atomic<Hook> hooks_[kMost] = {};
};

constinit Set<AllocatedHook> g_allocated;
constinit Set<FreeingHook> g_freeing;
constinit std::atomic<bool> g_traced{false};
constinit Mutex g_lock{Rank::kTags};  // keeps g_on in step with these

void note_on() {
  Lock lock(g_lock);
  const bool on = g_allocated.any() || g_freeing.any() || g_traced.load();
  sampler::set_hooked(on);
  relaxed_store(g_on, on);
}

void set_on() {
  note_on();
  if (!is_on()) {
    take_heap_back();
  } else if (Heap* heap = t_heap == &kUninitializedHeap ? registry::initialize_thread() : heap_if_any()) {
    put_heap_aside(*heap);
  }
}

}  // namespace

bool add(AllocatedHook hook) {
  if (hook == nullptr || !g_allocated.replace(nullptr, hook)) return false;
  set_on();
  return true;
}

bool add(FreeingHook hook) {
  if (hook == nullptr || !g_freeing.replace(nullptr, hook)) return false;
  set_on();
  return true;
}

bool remove(AllocatedHook hook) {
  if (hook == nullptr || !g_allocated.replace(hook, nullptr)) return false;
  set_on();
  return true;
}

bool remove(FreeingHook hook) {
  if (hook == nullptr || !g_freeing.replace(hook, nullptr)) return false;
  set_on();
  return true;
}

ACRE_COLD void call_allocated(const void* block, size_t bytes, size_t asked) {
  if (trace::is_on()) trace::allocated(block, asked);
  g_allocated.call(block, bytes);
}
ACRE_COLD void call_freeing(const void* block) {
  if (trace::is_on()) trace::freeing(block);
  g_freeing.call(block);
}

void set_traced(bool on) {
  g_traced.store(on);
  note_on();
  if (!is_on()) take_heap_back();
}

void at_fork(ForkStage stage) {
  g_lock.at_fork(stage);
  trace::at_fork(stage);
}

void put_heap_aside(Heap& heap) {
  registry::put_heap_aside();
  heap.hooked = true;
}

bool take_heap_back() {
  if (is_on() || t_heap != &kTerminatedHeap) return false;
  Heap* heap = registry::heap_of_thread();
  if (heap == nullptr || !heap->hooked) return false;
  heap->hooked = false;
  registry::take_heap_back();
  return true;
}

}  // namespace acre::hooks
