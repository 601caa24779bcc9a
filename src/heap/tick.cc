// What a tick brings with it, one in kEventsPerTick of a thread's visits to the slow door.
#include "heap/attendant.h"
#include "heap/background.h"
#include "heap/explicit.h"
#include "heap/idle.h"
#include "heap/pressure.h"
#include "heap/thread_bytes.h"
#include "os/os.h"

namespace acre {

namespace {

constexpr uint32_t kTicksPerCollection = 2;

}  // namespace

void tick_slow(Heap& heap) {
  // Decay in its own arena, and in the others by turns: their threads may be idle.
  const uint64_t now = os::now_ms();
  const uint32_t tick = heap.events / kEventsPerTick;
  heap.arena->pages.decay(now);
  Arena* other = arenas::at(tick % arenas::count());
  if (other != heap.arena) other->pages.decay(now);
  arenas::decay_an_explicit(now);
  if (ACRE_UNLIKELY(arenas::has_surplus())) arenas::retire_surplus();
  if (tick % kTicksPerCollection == 0) collect_step(heap);
  if (ACRE_UNLIKELY(heap.bytes.watched)) thread_bytes::look(heap);
  idle::look_around(&heap, now);
  pressure::on_tick(heap, now);
  if (ACRE_UNLIKELY(attendant::is_wanted())) background::tell_of_tick(heap, now);
}

}  // namespace acre
