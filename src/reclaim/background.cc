#include "reclaim/background.h"

#include "cache/registry.h"
#include "cache/upcalls.h"
#include "os/os.h"
#include "pages/wakeup.h"
#include "reclaim/idle.h"
#include "reclaim/internal_thread.h"
#include "reclaim/pressure.h"
#include "reclaim/quiet_runs.h"
#include "tables/options.h"

namespace acre::background {

namespace {

constexpr uint64_t kNapMs = 100;      // at least, between two passes
constexpr uint64_t kTimesFaster = 32;  // than ticks, which hold up the program, goes over runs (quiet_runs.h)
constexpr uint64_t kRetryMs = 10000;  // after the system gave no thread

// Blocks that go from an idle heap's outbox to another idle heap need a reclaim of each, announced one look before.
constexpr unsigned kQuietLooks = 4;

constinit std::atomic<State> g_state{State::kNone};
constinit std::atomic<bool> g_loaded{false};
constinit std::atomic<unsigned> g_most{kMostThreads};
constinit std::atomic<uint64_t> g_retry_at_ms{0};
constinit std::atomic<uint64_t> g_passes{0};
constinit std::atomic<uint64_t> g_gaps{0};        // from one pass of a thread to its next
constinit std::atomic<uint64_t> g_in_gaps_ms{0};  // their sum

// The loader allocates before the C library can make threads.
__attribute__((constructor)) void on_load() { g_loaded.store(true, std::memory_order_relaxed); }

bool is_wanted() {
  return relaxed_load(options().background_thread) && g_most.load(std::memory_order_relaxed) != 0;
}

// One pass over all heaps and arenas. Returns when the next is due (ms). quiet: looks in a row that found no change.
uint64_t look_after_memory(uint64_t now, unsigned& quiet) {
  idle::Look look;
  do look = idle::look_around(nullptr, now);
  while (look == idle::Look::kNotDone);
  if (look == idle::Look::kBusy) quiet = 0;
  if (look == idle::Look::kQuiet) ++quiet;
  if (quiet < kQuietLooks) quiet_runs::expect();
  uint64_t due = smaller(quiet < kQuietLooks ? now + idle::kIntervalMs : kNever, pressure::look_after(now));
  due = smaller(due, quiet_runs::step(now, kTimesFaster));
  arenas::for_each([&](Arena& arena) {
    arena.pages.decay(now);
    due = smaller(due, arena.pages.next_decay(now));
  });
  return due;
}

void* live(void*) {
  t_heap = const_cast<HotHeap*>(&kTerminatedHeap);  // with a heap of its own it would never see the last thread end
  os::name_this_thread("acre-decay");
  unsigned quiet = 0;
  for (uint64_t last = 0;;) {
    wakeup::listen();
    const uint64_t now = os::now_ms();
    g_passes.fetch_add(1, std::memory_order_relaxed);
    if (last != 0) {
      g_gaps.fetch_add(1, std::memory_order_relaxed);
      g_in_gaps_ms.fetch_add(now - last, std::memory_order_relaxed);
    }
    last = now;
    uint64_t due = look_after_memory(now, quiet);
    due = smaller(due, internal_thread::tell_of_look(nullptr, now));
    if (!registry::has_threads() || !is_wanted()) break;
    if (wakeup::sleep(due == kNever ? kNever : due - smaller(now, due))) quiet = 0;
    wakeup::nap(kNapMs);
  }
  wakeup::close();
  g_state.store(State::kNone);
  return nullptr;
}

bool may_start(const Heap& heap, uint64_t now_ms, State state) {
  if (!g_loaded.load(std::memory_order_relaxed) || Mutex::this_thread_forks()) return false;
  if (&heap != heap_if_any() || !is_wanted()) return false;  // a fallback heap makes no thread
  return state == State::kNone || now_ms >= g_retry_at_ms.load(std::memory_order_relaxed);
}

// The C library allocates and frees for a new thread in this heap. The state changes first: ticks in there make no
// second thread.
ACRE_COLD void start(Heap& heap, uint64_t now_ms, State state) {
  if (!may_start(heap, now_ms, state) || !g_state.compare_exchange_strong(state, State::kRunning)) return;
  if (!os::start_thread(live)) {
    g_retry_at_ms.store(now_ms + kRetryMs, std::memory_order_relaxed);
    g_state.store(State::kRefused);
  }
  empty_heap(heap);  // callers of tick() may assume that no private list has grown
}

void on_tick(Heap& heap, uint64_t now_ms, bool in_free = false) {
  const State state = g_state.load(std::memory_order_relaxed);
  if (state != State::kRunning) return in_free ? tick_soon(heap) : start(heap, now_ms, state);
  wakeup::signal();
}

// A thread that start_without_heap() made, and that may have ended since.
constinit std::atomic<bool> g_to_join{false};
constinit unsigned long g_thread = 0;

void join_if_any() {
  if (g_to_join.exchange(false)) os::join_thread(g_thread);
}

// For a thread without a heap, such as the one that answers at the socket: the C library allocates from a fallback
// heap. The new thread gets the calling thread's file descriptors instead of the program's, so it may not be the last
// of the process.
ACRE_COLD void start_without_heap() {
  State state = g_state.load();
  if (state == State::kRunning || !g_state.compare_exchange_strong(state, State::kRunning)) return;
  join_if_any();
  const bool started = os::start_thread(live, &g_thread);
  g_to_join.store(started);
  if (!started) g_state.store(State::kRefused);
}

}  // namespace

State state() { return g_state.load(std::memory_order_relaxed); }

unsigned most_threads() { return g_most.load(std::memory_order_relaxed); }

uint64_t passes() { return g_passes.load(std::memory_order_relaxed); }
uint64_t ns_between_passes() {
  constexpr uint64_t kNsPerMs = 1000000;
  const uint64_t gaps = g_gaps.load(std::memory_order_relaxed);
  return gaps == 0 ? 0 : g_in_gaps_ms.load(std::memory_order_relaxed) * kNsPerMs / gaps;
}

void set_most_threads(unsigned most) {
  g_most.store(most, std::memory_order_relaxed);
  follow_option();
}

// Wakes more than once, since the thread may miss a wake-up before its first sleep.
static void await_end() {
  const std::atomic<uint32_t> nobody_wakes{0};
  while (!is_wanted() && state() == State::kRunning) {
    wakeup::wake();
    os::wait_while(nobody_wakes, 0, 1);
  }
}

bool follow_option() {
  if (!is_wanted()) {
    await_end();
    return true;
  }
  Heap* heap = t_heap == &kUninitializedHeap ? registry::initialize_thread() : heap_if_any();
  g_retry_at_ms.store(0, std::memory_order_relaxed);
  internal_thread::g_nobody.store(false);
  if (heap != nullptr) {
    on_tick(*heap, os::now_ms());
  } else if (!fill::is_on() && g_loaded.load(std::memory_order_relaxed)) {
    start_without_heap();
  }
  if (state() != State::kRefused) return true;
  set_option(index_of(Option::background_thread), 0, OptionSource::kRunTime);
  return false;
}

ACRE_COLD void tell_of_tick(Heap& heap, uint64_t now_ms, bool in_free) {
  if (relaxed_load(options().background_thread)) on_tick(heap, now_ms, in_free);
  if (const auto call = internal_thread::g_on_tick.load()) in_free ? tick_soon(heap) : call(heap);
}

void after_fork_in_child() {
  g_state.store(State::kNone);
  g_to_join.store(false);
  wakeup::close();
  if (const auto call = internal_thread::g_after_fork_in_child.load(std::memory_order_relaxed)) call();
}

}  // namespace acre::background

namespace acre {

void on_last_thread() {
  wakeup::wake();
  background::join_if_any();
  for (const auto& call : internal_thread::g_end_waiting) {
    if (const auto end = call.load(std::memory_order_relaxed)) end();
  }
  if (const auto call = internal_thread::g_on_last_thread.load(std::memory_order_relaxed)) call();
}

}  // namespace acre
