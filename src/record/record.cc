#include "record/record.h"

#include <errno.h>
#include <string.h>

#include <new>

#include "base/pause.h"
#include "base/ticks.h"
#include "os/os.h"
#include "cache/known_caller.h"
#include "cache/upcalls.h"
#include "pages/metadata.h"
#include "record/figures.h"
#include "record/lanes.h"
#include "record/names.h"
#include "record/shards.h"
#include "record/stacks.h"
#include "slab/on_runs.h"

namespace acre::record {

namespace {

constinit Shard* g_shards = nullptr;

constinit std::atomic<uint32_t> g_session{0};  // 0: there is no recording
constinit std::atomic<uint32_t> g_session_without_stacks{0};  // the same, or 0
constinit uint32_t g_last_session = 0;
constinit Mutex g_lock{Rank::kRecord};         // the lists, and starts
constinit Recorder* g_recorders ACRE_GUARDED_BY(g_lock) = nullptr;
constinit Recorder* g_spare ACRE_GUARDED_BY(g_lock) = nullptr;

// The common lane. The lock is a thread's token, so that a signal handler finds that its own thread has it.
constinit Recorder* g_common = nullptr;  // made by the first start
constinit std::atomic<ThreadToken> g_common_lock{kNoThread};

// Returns the session that was.
uint32_t end_session() {
  g_session_without_stacks.store(0);
  return g_session.exchange(0);
}

// --- Who writes -----------------------------------------------------------------------------------------------

Recorder* make_recorder_locked() ACRE_REQUIRES(g_lock) {
  Recorder* recorder = g_spare;
  if (recorder != nullptr) {
    g_spare = recorder->next;
  } else {
    void* memory = metadata::allocate(sizeof(Recorder));
    if (memory == nullptr) return nullptr;
    recorder = new (memory) Recorder;
  }
  recorder->next = g_recorders;
  g_recorders = recorder;
  return recorder;
}

Recorder* make_recorder() {
  Lock lock(g_lock);
  return make_recorder_locked();
}

// Makes sure of a lane of this session.
bool has_lane(Recorder& recorder, uint32_t session, uint32_t thread) {
  if (recorder.session != session) {
    recorder.block = nullptr;
    recorder.session = session;
    if (lanes::begin(recorder, thread)) stacks::begin(recorder), names::begin(recorder);
  }
  return recorder.block != nullptr;
}

// Null: the thread has the lock already, in what a signal handler has interrupted, or there is no lane left. Few threads
// come here, so a thread that waits long looks again each millisecond.
Recorder* enter_common(uint32_t session) {
  static constexpr std::atomic<uint32_t> kNobodyWakes{0};
  for (int spins = 0;; ++spins) {
    ThreadToken holder = kNoThread;
    if (g_common_lock.compare_exchange_strong(holder, this_thread(), std::memory_order_acquire)) break;
    if (holder == this_thread()) return figures::count_lost(), nullptr;
    spins < kSpins ? pause_processor() : os::wait_while(kNobodyWakes, 0, 1);
  }
  if (has_lane(*g_common, session, 0)) return g_common;
  g_common_lock.store(kNoThread, std::memory_order_release);
  figures::count_lost();
  return nullptr;
}

ACRE_NOINLINE Recorder* enter_slowly(Heap* heap, uint32_t session) {
  if (session == 0) return nullptr;
  Recorder* recorder = heap == nullptr ? nullptr : heap->recorder;
  if (heap != nullptr && recorder == nullptr) recorder = heap->recorder = make_recorder();
  if (recorder == nullptr) return enter_common(session);
  const bool is_writing = recorder->session == session && recorder->block != nullptr;
  if (is_writing || !has_lane(*recorder, session, static_cast<uint32_t>(os::thread_number()))) return enter_common(session);
  return recorder;
}

// For the usual case: the session is `session`, the thread has its lane and does not write. Null: not so. Otherwise
// leave_own() follows.
ACRE_ALWAYS_INLINE Recorder* enter_own(Heap* heap, uint32_t session) {
  Recorder* recorder = heap == nullptr ? nullptr : heap->recorder;
  if (recorder == nullptr || recorder->ready.load(std::memory_order_relaxed) != session) return nullptr;
  recorder->ready.store(Recorder::kNotReady, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return recorder;
}

ACRE_ALWAYS_INLINE void leave_own(Recorder& recorder) {
  lanes::publish(recorder);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  recorder.ready.store(recorder.session, std::memory_order_relaxed);
}

// Null: the event is not recorded. Otherwise leave() follows.
Recorder* enter(Heap* heap) {
  const uint32_t session = g_session.load(std::memory_order_acquire);
  Recorder* recorder = enter_own(heap, session);
  return recorder != nullptr ? recorder : enter_slowly(heap, session);
}

void leave(Recorder& recorder) {
  leave_own(recorder);
  if (&recorder == g_common) g_common_lock.store(kNoThread, std::memory_order_release);
}

// --- What comes before an event -------------------------------------------------------------------------------

ACRE_NOINLINE void take_over(Recorder& recorder, unsigned shard) {
  const uint64_t epoch = g_shards[shard].take(recorder.name_in_shards);
  const uint64_t number = lanes::takeovers().fetch_add(1, std::memory_order_acq_rel) + 1;
  recorder.encoder.takeover(shard, epoch, number);
}

ACRE_NOINLINE bool next_block(Recorder& recorder) {
  if (ACRE_LIKELY(lanes::next_block(recorder))) return names::begin_block(recorder), true;
  stop();
  return false;
}

// False: there is no recording any more.
ACRE_NOINLINE bool write_time(Recorder& recorder) {
  if (!recorder.encoder.has_room() && !next_block(recorder)) return false;
  recorder.tick = lanes::tick();
  recorder.encoder.time(read_ticks());
  const uint64_t counter = lanes::takeovers().load(std::memory_order_acquire);
  if (counter != recorder.encoder.seen()) recorder.encoder.sync(counter);
  if (figures::are_due(recorder.tick)) figures::write(recorder.encoder);
  if (names::is_time(recorder) && &recorder != g_common) names::look(recorder);
  return true;
}

// The same.
ACRE_ALWAYS_INLINE bool begin_event(Recorder& recorder, Address block) {
  const bool is_time = recorder.encoder.is_at_stop() || recorder.tick != lanes::tick();
  if (ACRE_UNLIKELY(is_time) && !write_time(recorder)) return false;
  const unsigned shard = shard_of(block);
  if (ACRE_UNLIKELY(g_shards[shard].lane() != recorder.name_in_shards)) take_over(recorder, shard);
  return true;
}

// Writes the stack's frames, if the lane has not yet.
bool define_stack(Recorder& recorder, const stacks::Captured& stack) {
  if (stacks::is_defined(recorder, stack.number)) return true;
  if (!recorder.encoder.has_room() && !next_block(recorder)) return false;
  stacks::define(recorder, stack);
  return true;
}

ACRE_NOINLINE void write_kind(Recorder& recorder, Kind kind, unsigned alignment_log2) {
  recorder.encoder.kind(kind, alignment_log2);
}

// What an allocation has, apart from a stack.
ACRE_ALWAYS_INLINE void write_allocated(Recorder& recorder, Heap* heap, const void* block, size_t asked) {
  if (ACRE_UNLIKELY(heap != nullptr && heap->call.kind != CallKind::kPlain)) {
    asked = heap->call.asked;
    heap->call.is_told = true;
    write_kind(recorder, static_cast<Kind>(heap->call.kind), heap->call.alignment_log2);
  }
  recorder.encoder.allocated(address_of(block), asked);
}

ACRE_ALWAYS_INLINE void write_freeing(Recorder& recorder, const Heap* heap, const void* block) {
  if (ACRE_UNLIKELY(heap != nullptr && heap->call.kind == CallKind::kReallocated)) {
    write_kind(recorder, Kind::kReallocFrom, 0);
  }
  recorder.encoder.freeing(address_of(block));
}

// Of events that are not the usual case, and of all while the recording has stacks.
enum class Told : uint8_t { kAllocated, kResized };
ACRE_NOINLINE void* tell(Told told, Heap* heap, const void* block, size_t asked) {
  stacks::Captured stack;
  const KnownCaller known(heap, __builtin_return_address(0));  // of malloc, which ends with a jump to here
  const bool is_of_call = told == Told::kAllocated && heap != nullptr && heap->call.kind != CallKind::kPlain;
  if (stacks::are_on()) stacks::capture(heap, is_of_call ? heap->call.asked : asked, stack);
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

ACRE_NOINLINE void tell_freeing(Heap* heap, const void* block) {
  Recorder* recorder = enter(heap);
  if (recorder == nullptr) return;
  if (begin_event(*recorder, address_of(block))) write_freeing(*recorder, heap, block);
  leave(*recorder);
}

}  // namespace

// --- Events -----------------------------------------------------------------------------------------------------

void* allocated(Heap* heap, const void* block, size_t asked) {
  Recorder* recorder = enter_own(heap, g_session_without_stacks.load(std::memory_order_acquire));
  if (ACRE_UNLIKELY(recorder == nullptr)) return tell(Told::kAllocated, heap, block, asked);
  if (ACRE_LIKELY(begin_event(*recorder, address_of(block)))) write_allocated(*recorder, heap, block, asked);
  leave_own(*recorder);
  return const_cast<void*>(block);
}

void freeing(Heap* heap, const void* block) {
  Recorder* recorder = enter_own(heap, g_session.load(std::memory_order_acquire));
  if (ACRE_UNLIKELY(recorder == nullptr)) return tell_freeing(heap, block);
  if (ACRE_LIKELY(begin_event(*recorder, address_of(block)))) write_freeing(*recorder, heap, block);
  leave_own(*recorder);
}

void resized(Heap* heap, const void* block, size_t asked) { tell(Told::kResized, heap, block, asked); }

// Of on_runs.h.
static void tell_run(Address base, size_t pages, size_t block_bytes) {
  Recorder* recorder = enter(heap_if_any());
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

ACRE_COLD void end_thread(Heap& heap) {
  Recorder* recorder = heap.recorder;
  heap.recorder = nullptr;
  recorder->ready.store(Recorder::kNotReady);
  if (recorder->session == g_session.load() && recorder->block != nullptr &&
      (recorder->encoder.has_room() || next_block(*recorder))) {
    recorder->encoder.time(read_ticks());
    names::look(*recorder);
    lanes::end(*recorder);
  }
  recorder->session = 0;
  Lock lock(g_lock);
  for (Recorder** at = &g_recorders; *at != nullptr; at = &(*at)->next) {
    if (*at != recorder) continue;
    *at = recorder->next;
    break;
  }
  recorder->next = g_spare;
  g_spare = recorder;
}

// --- The recording ------------------------------------------------------------------------------------------------

static int start_locked(const char* place, uint32_t parent) ACRE_REQUIRES(g_lock) {
  if (g_session.load() != 0) return EBUSY;
  // Epochs of an earlier recording, or of the parent, are not in the file: readers would wait for them.
  if (g_shards != nullptr) os::purge(g_shards, sizeof(Shard) << kShardsLog2);
  if (g_shards == nullptr) g_shards = static_cast<Shard*>(os::map(sizeof(Shard) << kShardsLog2));
  if (g_shards == nullptr) return ENOMEM;
  if (g_common == nullptr) g_common = make_recorder_locked();
  if (g_common == nullptr) return ENOMEM;
  if (const int error = lanes::attach(place, parent)) return error;
  if (!stacks::set_every(lanes::stack_every())) return ENOMEM;
  relaxed_store(on_runs::g_hook, &tell_run);
  ++g_last_session;
  g_session_without_stacks.store(stacks::are_on() ? 0 : g_last_session, std::memory_order_release);
  g_session.store(g_last_session, std::memory_order_release);
  return 0;
}

ACRE_COLD int start(const char* place) {
  Lock lock(g_lock);
  return start_locked(place, kNoProcess);
}

ACRE_COLD void stop() {
  if (end_session() == 0) return;
  relaxed_store(on_runs::g_hook, on_runs::Hook{nullptr});
  lanes::leave();
  hooks::recording_ended();
}

bool has_stacks() { return is_on() && stacks::are_on(); }

bool is_on() { return g_session.load(std::memory_order_relaxed) != 0; }

// --- fork -----------------------------------------------------------------------------------------------------------

static void write_cut(Recorder& to, uint32_t lane, uint32_t block, uint32_t used) {
  if (!to.encoder.has_room() && !lanes::next_block(to)) return stop();
  to.encoder.cut(lane, block, used);
}

// The child's copies of the recorders tell how far the parent's lanes were; of those that had ended there is none. The
// child's first lane is the common one.
ACRE_COLD static void go_on_in_child() ACRE_REQUIRES(g_lock) {
  const uint32_t lanes_begun = lanes::next_lane_number();
  const uint32_t parents = end_session();
  if (start_locked("", lanes::process_number()) != 0) return;
  Recorder* cuts = make_recorder_locked();
  if (cuts == nullptr || !has_lane(*cuts, g_session.load(), 0)) return stop();
  for (const Recorder* recorder = g_recorders; recorder != nullptr; recorder = recorder->next) {
    if (recorder->block == nullptr || recorder->session != parents) continue;
    write_cut(*cuts, recorder->number(), recorder->block_number, recorder->encoder.used());
  }
  write_cut(*cuts, lanes_begun, 0, 0);
  lanes::end(*cuts);
  cuts->session = 0;
  g_common_lock.store(kNoThread);
}

ACRE_COLD void at_fork(ForkStage stage) ACRE_NO_THREAD_SAFETY_ANALYSIS {
  g_lock.at_fork(stage);
  if (stage == ForkStage::kInChild && g_session.load() != 0) go_on_in_child();
}

}  // namespace acre::record
