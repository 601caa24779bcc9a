#include "observe/hooks.h"

#include <atomic>

#include "base/mutex.h"
#include "cache/registry.h"
#include "observe/sampler.h"
#include "observe/trace.h"
#include "record/record.h"

namespace acre::hooks {

constinit uint8_t g_on = 0;

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
constinit std::atomic<bool> g_recorded{false};
constinit bool g_all = false;  // observe_all() was called
constinit Mutex g_lock{Rank::kTags};  // keeps g_on in step with these

void note_on() {
  Lock lock(g_lock);
  const bool is_called = g_allocated.any() || g_freeing.any() || g_traced.load();
  const unsigned on = (is_called ? kCalled : 0u) | (g_recorded.load() ? kRecorded : 0u);
  sampler::set_hooked(on != 0);
  relaxed_store(g_on, static_cast<uint8_t>(on | (g_all ? kHardened : 0u)));
}

// The calling thread's heap is in step at once.
void set_on() {
  note_on();
  if (t_heap == &kUninitializedHeap) registry::initialize_thread();
  Heap* heap = heap_if_any();
  if (heap != nullptr && is_on() != (heap->kind == HeapKind::kObserved)) heap->set_observed(is_on());
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

void call_allocated(const void* block, size_t bytes, size_t asked) {
  const unsigned on = relaxed_load(g_on);
  if ((on & kRecorded) != 0) record::allocated(heap_if_any(), block, asked);
  if ((on & kCalled) == 0) return;
  if (trace::is_on()) trace::allocated(block, asked);
  g_allocated.call(block, bytes);
}
void call_freeing(const void* block) {
  const unsigned on = relaxed_load(g_on);
  if ((on & kRecorded) != 0) record::freeing(heap_if_any(), block);
  if ((on & kCalled) == 0) return;
  if (trace::is_on()) trace::freeing(block);
  g_freeing.call(block);
}
void resized(const void* block, size_t asked) {
  if ((relaxed_load(g_on) & kRecorded) != 0) record::resized(heap_if_any(), block, asked);
}

ACRE_COLD void observe_all() {
  g_all = true;
  note_on();
}

void set_traced(bool on) {
  g_traced.store(on);
  note_on();
}

ACRE_COLD int start_recording(const char* place, void (*before_events)()) {
  const int error = record::start(place);
  if (error != 0) return error;
  if (before_events != nullptr) before_events();
  g_recorded.store(true);
  note_on();  // the calling thread, which starts the process or answers at the socket, has no heap
  return 0;
}

ACRE_COLD void recording_ended() {
  g_recorded.store(false);
  note_on();
}

void at_fork(ForkStage stage) {
  g_lock.at_fork(stage);
  trace::at_fork(stage);
}

}  // namespace acre::hooks
