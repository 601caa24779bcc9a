// All that a tick does: one in kEventsPerTick of a thread's slow-path events.
#include "cache/thread_bytes.h"
#include "manual/manual_arena.h"
#include "os/os.h"
#include "pages/source.h"
#include "reclaim/background.h"
#include "reclaim/idle.h"
#include "reclaim/internal_thread.h"
#include "reclaim/pressure.h"
#include "reclaim/quiet_runs.h"

namespace acre {

namespace {

constexpr uint32_t kTicksPerCollection = 2;

// Heaps were looked at, and internal threads were not told: they may make a thread, which a tick in free must not.
constinit std::atomic<bool> g_untold{false};

}  // namespace

void tick_slow(Heap& heap, bool in_free) {
  // Decay in the heap's arena, and in one of the others each time: their threads may be idle.
  const uint64_t now = os::now_ms();
  const uint32_t hook_calls = Source::hook_calls();
  const uint32_t tick = heap.events / kEventsPerTick;
  heap.arena->pages.decay(now);
  Arena* other = arenas::at(tick % arenas::count());
  if (other != heap.arena) other->pages.decay(now);
  arenas::decay_a_manual(now);
  if (ACRE_UNLIKELY(arenas::has_surplus())) arenas::retire_surplus();
  if (tick % kTicksPerCollection == 0) collect_step(heap);
  if (ACRE_UNLIKELY(heap.bytes.is_tracked)) thread_bytes::look(heap);
  if (idle::look_around(&heap, now) >= idle::Look::kBusy) {  // four times a second
    quiet_runs::step(now);
    g_untold.store(true, std::memory_order_relaxed);
  }
  pressure::on_tick(heap, now);
  if (!in_free && g_untold.load(std::memory_order_relaxed) && g_untold.exchange(false)) {
    internal_thread::tell_of_look(&heap, now);
  }
  if (ACRE_UNLIKELY(internal_thread::is_wanted())) background::tell_of_tick(heap, now, in_free);
  if (ACRE_UNLIKELY(Source::hook_calls() != hook_calls)) empty_heap(heap);  // a hook may have allocated: see tick()
}

}  // namespace acre
