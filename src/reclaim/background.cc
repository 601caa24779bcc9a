#include "reclaim/background.h"

#include "cache/registry.h"
#include "cache/upcalls.h"
#include "os/os.h"
#include "pages/wakeup.h"
#include "reclaim/idle.h"
#include "reclaim/internal_thread.h"
#include "reclaim/pressure.h"
#include "tables/options.h"

namespace acre::background {

namespace {

constexpr uint64_t kNapMs = 100;      // at least so long between two passes
constexpr uint64_t kRetryMs = 10000;  // after the system refused a thread

// What one heap's outbox sends off to another heap takes two visits, each of which is announced one look before.
constexpr unsigned kQuietLooks = 4;

constinit std::atomic<State> g_state{State::kNone};
constinit std::atomic<bool> g_loaded{false};
constinit std::atomic<unsigned> g_most{kMostThreads};
constinit std::atomic<uint64_t> g_retry_at_ms{0};

// The loader allocates before the C library is ready to make threads.
__attribute__((constructor)) void on_load() { g_loaded.store(true, std::memory_order_relaxed); }

bool is_wanted() {
  return relaxed_load(options().background_thread) && g_most.load(std::memory_order_relaxed) != 0;
}

// One pass over all heaps and arenas; when the next one is due (ms). quiet: looks at all heaps in a row that found
// nothing changed.
uint64_t look_after_memory(uint64_t now, unsigned& quiet) {
  const idle::Look look = idle::look_around(nullptr, now);
  if (look == idle::Look::kBusy) quiet = 0;
  if (look == idle::Look::kQuiet) ++quiet;
  uint64_t due = smaller(quiet < kQuietLooks ? now + idle::kIntervalMs : kNever, pressure::look_after(now));
  arenas::for_each([&](Arena& arena) {
    arena.pages.decay(now);
    due = smaller(due, arena.pages.next_decay(now));
  });
  return due;
}

void* live(void*) {
  os::name_this_thread("acre-decay");
  unsigned quiet = 0;
  for (;;) {
    wakeup::listen();
    const uint64_t now = os::now_ms();
    const uint64_t due = look_after_memory(now, quiet);
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
  if (&heap != heap_if_any() || !is_wanted()) return false;  // one that threads share when theirs were ended
  return state == State::kNone || now_ms >= g_retry_at_ms.load(std::memory_order_relaxed);
}

// The C library allocates and frees for a new thread, in this very heap: with the state changed before that, ticks
// in there make no second one.
ACRE_COLD void start(Heap& heap, uint64_t now_ms, State state) {
  if (!may_start(heap, now_ms, state) || !g_state.compare_exchange_strong(state, State::kRunning)) return;
  if (!os::start_thread(live)) {
    g_retry_at_ms.store(now_ms + kRetryMs, std::memory_order_relaxed);
    g_state.store(State::kRefused);
  }
  empty_heap(heap);  // whoever ticks relies on it that no private list has grown
}

void on_tick(Heap& heap, uint64_t now_ms) {
  const State state = g_state.load(std::memory_order_relaxed);
  if (state != State::kRunning) return start(heap, now_ms, state);
  wakeup::signal();
}

// One that was started without a heap, and may have ended since.
constinit std::atomic<bool> g_to_join{false};
constinit unsigned long g_thread = 0;

void join_if_any() {
  if (g_to_join.exchange(false)) os::join_thread(g_thread);
}

// For a thread without a heap, as the one that answers at the socket: what the C library allocates is from one that such
// threads share. The thread gets that one's descriptors and not the program's, and so may not be the process's last.
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

void set_most_threads(unsigned most) {
  g_most.store(most, std::memory_order_relaxed);
  follow_option();
}

// Before its first sleep the thread may miss a ring, so there are more than one.
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

ACRE_COLD void tell_of_tick(Heap& heap, uint64_t now_ms) {
  if (relaxed_load(options().background_thread)) on_tick(heap, now_ms);
  if (const auto call = internal_thread::g_on_tick.load()) call(heap);
}

void after_fork_in_child() {
  g_state.store(State::kNone);
  g_to_join.store(false);
  wakeup::close();
}

}  // namespace acre::background

namespace acre {

void on_last_thread() {
  wakeup::wake();
  background::join_if_any();
  if (const auto call = internal_thread::g_on_last_thread.load(std::memory_order_relaxed)) call();
}

}  // namespace acre
