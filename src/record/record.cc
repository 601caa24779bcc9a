#include "record/record.h"

#include "base/frames.h"
#include "base/ticks.h"
#include "cache/free.h"
#include "cache/upcalls.h"
#include "record/figures.h"
#include "record/names.h"
#include "record/stacks.h"
#include "record/writers.h"

namespace acre::record {

namespace {

// --- What comes before an event -------------------------------------------------------------------------------

ACRE_NOINLINE void take_over(Recorder& recorder, unsigned shard) {
  const uint64_t epoch = g_shards[shard].take(recorder.name_in_shards);
  const uint64_t number = lanes::takeovers().fetch_add(1, std::memory_order_acq_rel) + 1;
  recorder.encoder.takeover(shard, epoch, number);
}

// False: there is no recording any more.
ACRE_NOINLINE bool write_time(Recorder& recorder) {
  if (!recorder.encoder.has_room() && !next_block(recorder)) return false;
  recorder.clock_seen = recorder.clock->load(std::memory_order_relaxed);
  recorder.encoder.time(read_ticks());
  const uint64_t counter = lanes::takeovers().load(std::memory_order_acquire);
  if (counter != recorder.encoder.seen()) recorder.encoder.sync(counter);
  if (figures::are_due(recorder.tick())) figures::write(recorder.encoder);
  if (names::is_time(recorder) && !is_common(recorder)) names::look(recorder);
  return true;
}

// The same.
ACRE_ALWAYS_INLINE bool begin_event(Recorder& recorder, Address block) {
  const bool is_time = recorder.encoder.is_at_stop() || recorder.clock_seen != recorder.clock->load(std::memory_order_relaxed);
  if (ACRE_UNLIKELY(is_time) && !write_time(recorder)) return false;
  const unsigned shard = shard_of(block);
  if (ACRE_UNLIKELY(g_shards[shard].lane() != recorder.name_in_shards)) take_over(recorder, shard);
  return true;
}

// Writes the stack's frames, if the lane has not yet.
bool define_stack(Recorder& recorder, const stacks::Captured& stack) {
  if (stacks::is_defined(recorder, stack)) return true;
  if (!recorder.encoder.has_room() && !next_block(recorder)) return false;
  stacks::define(recorder, stack);
  return true;
}

// What an allocation has, apart from a stack.
void write_allocated(Recorder& recorder, Heap* heap, const void* block, size_t asked) {
  if (heap != nullptr && heap->call.kind != CallKind::kPlain) {
    asked = heap->call.asked;
    heap->call.is_told = true;
    recorder.encoder.kind(static_cast<Kind>(heap->call.kind), heap->call.alignment_log2);
  }
  recorder.encoder.allocated(address_of(block), asked);
}

// Whether the program has given a size (cache/free.h: note_sized). Takes the note back.
ACRE_ALWAYS_INLINE bool take_sized(Heap& heap) {
  const bool is_sized = heap.call.kind == CallKind::kSized;
  if (is_sized) heap.call.kind = CallKind::kPlain;
  return is_sized;
}

void write_freeing(Recorder& recorder, const Heap* heap, const void* block, bool is_sized) {
  if (heap != nullptr && heap->call.kind == CallKind::kReallocated) recorder.encoder.kind(Kind::kReallocFrom, 0);
  recorder.encoder.freeing(address_of(block), is_sized);
}

// Of events that are not the usual case, and of all while the recording has stacks.
enum class Told : uint8_t { kAllocated, kResized };
ACRE_NOINLINE void* tell(Told told, Heap* heap, const void* block, size_t asked) {
  stacks::Captured stack;
  if (stacks::are_on()) {
    const bool is_of_call = told == Told::kAllocated && heap != nullptr && heap->call.kind != CallKind::kPlain;
    // malloc ends with a jump to here.
    stacks::capture(heap, is_of_call ? heap->call.asked : asked, ACRE_CALLERS_FRAME(), stack);
  }
  Recorder* recorder = enter(heap);
  void* const same = const_cast<void*>(block);
  if (recorder == nullptr) return same;
  const bool is_known = stacks::can_name(*recorder, stack);
  if ((!is_known || define_stack(*recorder, stack)) && begin_event(*recorder, address_of(block))) {
    if (is_known) recorder->encoder.stack(stack.number);
    if (told == Told::kResized) {
      recorder->encoder.resized(address_of(block), asked);
    } else {
      write_allocated(*recorder, heap, block, asked);
    }
  }
  leave(*recorder);
  return same;
}

}  // namespace

// --- Events -----------------------------------------------------------------------------------------------------

void* allocated(Heap* heap, const void* block, size_t asked) {
  Recorder* recorder = heap == nullptr ? nullptr : heap->recorder;
  const bool is_plain = recorder != nullptr && asked < recorder->until_stack && heap->call.kind == CallKind::kPlain;
  const bool is_usual = is_plain && Encoder::is_usual(address_of(block), asked) && is_ready(*recorder, block);
  if (!is_usual) return tell(Told::kAllocated, heap, block, asked);
  enter_own(*recorder);
  recorder->until_stack -= asked;
  recorder->encoder.allocated_usual(address_of(block), asked);
  leave_own(*recorder);
  return const_cast<void*>(block);
}

void freeing(Heap* heap, const void* block) {
  const bool is_sized = heap != nullptr && take_sized(*heap);
  Recorder* recorder = enter(heap);
  if (recorder == nullptr) return;
  if (begin_event(*recorder, address_of(block))) write_freeing(*recorder, heap, block, is_sized);
  leave(*recorder);
}

void freeing_of_run(Heap& heap, Slab* slab, void* block) {
  Recorder* recorder = heap.recorder;
  const bool is_plain = recorder != nullptr && heap.call.kind != CallKind::kReallocated;
  if (ACRE_UNLIKELY(!is_plain || !is_ready(*recorder, block))) return tell_and_release(heap, slab, block);
  enter_own(*recorder);
  recorder->encoder.freeing(address_of(block), take_sized(heap));
  leave_own(*recorder);
  release_told(heap, slab, block);
}

void resized(Heap* heap, const void* block, size_t asked) { tell(Told::kResized, heap, block, asked); }

void tell_run(Address base, size_t pages, size_t block_bytes) {
  Recorder* recorder = enter_under_locks(heap_if_any());
  if (recorder == nullptr) return;
  if (begin_event(*recorder, base)) {
    block_bytes != 0 ? recorder->encoder.run_is(base, pages, block_bytes) : recorder->encoder.run_gone(base);
  }
  leave(*recorder);
}

ACRE_COLD void mark(const char* text) {
  Recorder* recorder = enter(heap_if_any());
  if (recorder == nullptr) return;
  if (recorder->encoder.has_room() || next_block(*recorder)) {
    recorder->encoder.time(read_ticks());
    text != nullptr ? recorder->encoder.mark(text) : names::write_tag(*recorder);
  }
  leave(*recorder);
}

}  // namespace acre::record
