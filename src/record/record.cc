#include "record/record.h"

#include <errno.h>
#include <string.h>

#include <new>

#include "base/pause.h"
#include "base/ticks.h"
#include "os/os.h"
#include "cache/upcalls.h"
#include "pages/metadata.h"
#include "record/lanes.h"

namespace acre::record {

namespace {

constexpr uint32_t kEventsPerTime = 16;

// A word for each shard: the lane that touched it last, by its number plus 1, and how often it has changed lanes.
struct Shard {
  std::atomic<uint64_t> word{0};

  static constexpr unsigned kEpochShift = 32;
  uint32_t lane() const { return static_cast<uint32_t>(word.load(std::memory_order_relaxed)); }
  // Returns the new epoch.
  uint64_t take(uint32_t lane) {
    uint64_t before = word.load(std::memory_order_relaxed);
    uint64_t epoch;
    do {
      epoch = (before >> kEpochShift) + 1;
    } while (!word.compare_exchange_weak(before, epoch << kEpochShift | lane, std::memory_order_acq_rel));
    return epoch;
  }
};
constinit Shard* g_shards = nullptr;

constinit std::atomic<uint32_t> g_session{0};  // 0: there is no recording
constinit uint32_t g_last_session = 0;
constinit Mutex g_lock{Rank::kRecord};         // the lists, and starts
constinit Recorder* g_recorders ACRE_GUARDED_BY(g_lock) = nullptr;
constinit Recorder* g_spare ACRE_GUARDED_BY(g_lock) = nullptr;

// The common lane. The lock is a thread's token, so that a signal handler finds that its own thread has it.
constinit Recorder* g_common = nullptr;  // made by the first start
constinit std::atomic<ThreadToken> g_common_lock{kNoThread};

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
    lanes::begin(recorder, thread);
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
    if (holder == this_thread()) return nullptr;
    spins < kSpins ? pause_processor() : os::wait_while(kNobodyWakes, 0, 1);
  }
  if (has_lane(*g_common, session, 0)) return g_common;
  g_common_lock.store(kNoThread, std::memory_order_release);
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

// Null: the event is not recorded. Otherwise leave() follows.
ACRE_ALWAYS_INLINE Recorder* enter(Heap* heap) {
  const uint32_t session = g_session.load(std::memory_order_acquire);
  Recorder* recorder = heap == nullptr ? nullptr : heap->recorder;
  if (ACRE_UNLIKELY(recorder == nullptr || recorder->ready.load(std::memory_order_relaxed) != session)) {
    return enter_slowly(heap, session);
  }
  recorder->ready.store(Recorder::kNotReady, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return recorder;
}

ACRE_ALWAYS_INLINE void leave(Recorder& recorder) {
  lanes::publish(recorder);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  recorder.ready.store(recorder.session, std::memory_order_relaxed);
  if (ACRE_UNLIKELY(&recorder == g_common)) g_common_lock.store(kNoThread, std::memory_order_release);
}

// --- What comes before an event -------------------------------------------------------------------------------

ACRE_NOINLINE void write_time(Recorder& recorder) {
  recorder.until_time = kEventsPerTime;
  recorder.encoder.time(read_ticks());
  const uint64_t counter = lanes::takeovers().load(std::memory_order_acquire);
  if (counter != recorder.encoder.seen()) recorder.encoder.sync(counter);
}

ACRE_NOINLINE void take_over(Recorder& recorder, unsigned shard) {
  const uint64_t epoch = g_shards[shard].take(recorder.name_in_shards);
  const uint64_t number = lanes::takeovers().fetch_add(1, std::memory_order_acq_rel) + 1;
  recorder.encoder.takeover(shard, epoch, number);
}

ACRE_NOINLINE bool next_block(Recorder& recorder) {
  if (ACRE_LIKELY(lanes::next_block(recorder))) return true;
  stop();
  return false;
}

// False: there is no recording any more.
ACRE_ALWAYS_INLINE bool begin_event(Recorder& recorder, Address block) {
  if (ACRE_UNLIKELY(!recorder.encoder.has_room()) && !next_block(recorder)) return false;
  if (ACRE_UNLIKELY(--recorder.until_time == 0)) write_time(recorder);
  const unsigned shard = shard_of(block);
  if (ACRE_UNLIKELY(g_shards[shard].lane() != recorder.name_in_shards)) take_over(recorder, shard);
  return true;
}

ACRE_NOINLINE void write_kind(Recorder& recorder, Kind kind, unsigned alignment_log2) {
  recorder.encoder.kind(kind, alignment_log2);
}

}  // namespace

// --- Events -----------------------------------------------------------------------------------------------------

void* allocated(Heap* heap, const void* block, size_t asked) {
  Recorder* recorder = enter(heap);
  void* const same = const_cast<void*>(block);
  if (ACRE_UNLIKELY(recorder == nullptr)) return same;
  if (ACRE_LIKELY(begin_event(*recorder, address_of(block)))) {
    if (ACRE_UNLIKELY(heap != nullptr && heap->call.kind != CallKind::kPlain)) {
      asked = heap->call.asked;
      heap->call.is_told = true;
      write_kind(*recorder, static_cast<Kind>(heap->call.kind), heap->call.alignment_log2);
    }
    recorder->encoder.allocated(address_of(block), asked);
  }
  leave(*recorder);
  return same;
}

void freeing(Heap* heap, const void* block) {
  Recorder* recorder = enter(heap);
  if (ACRE_UNLIKELY(recorder == nullptr)) return;
  if (ACRE_LIKELY(begin_event(*recorder, address_of(block)))) {
    if (ACRE_UNLIKELY(heap != nullptr && heap->call.kind == CallKind::kReallocated)) {
      write_kind(*recorder, Kind::kReallocFrom, 0);
    }
    recorder->encoder.freeing(address_of(block));
  }
  leave(*recorder);
}

void resized(Heap* heap, const void* block, size_t asked) {
  Recorder* recorder = enter(heap);
  if (recorder == nullptr) return;
  if (begin_event(*recorder, address_of(block))) recorder->encoder.resized(address_of(block), asked);
  leave(*recorder);
}

ACRE_COLD void mark(const char* text) {
  Recorder* recorder = enter(heap_if_any());
  if (recorder == nullptr) return;
  if (recorder->encoder.has_room() || next_block(*recorder)) {
    recorder->encoder.time(read_ticks());
    recorder->encoder.mark(text);
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
  g_session.store(++g_last_session, std::memory_order_release);
  return 0;
}

ACRE_COLD int start(const char* place) {
  Lock lock(g_lock);
  return start_locked(place, kNoProcess);
}

ACRE_COLD void stop() {
  if (g_session.exchange(0) == 0) return;
  lanes::leave();
  hooks::recording_ended();
}

bool is_on() { return g_session.load(std::memory_order_relaxed) != 0; }

// --- fork -----------------------------------------------------------------------------------------------------------

static void write_cut(Recorder& to, const Recorder& of, uint32_t session) {
  if (of.block == nullptr || of.session != session) return;
  if (!to.encoder.has_room() && !lanes::next_block(to)) return stop();
  to.encoder.cut(of.number(), of.block_number, of.encoder.used());
}

// The child's copies of the recorders tell how far the parent's lanes were. The child's first lane is the common one.
ACRE_COLD static void go_on_in_child() ACRE_REQUIRES(g_lock) {
  const uint32_t parents = g_session.exchange(0);
  if (start_locked("", lanes::process_number()) != 0) return;
  Recorder* cuts = make_recorder_locked();
  if (cuts == nullptr || !has_lane(*cuts, g_session.load(), 0)) return stop();
  for (const Recorder* recorder = g_recorders; recorder != nullptr; recorder = recorder->next) {
    write_cut(*cuts, *recorder, parents);
  }
  lanes::end(*cuts);
  cuts->session = 0;
  g_common_lock.store(kNoThread);
}

ACRE_COLD void at_fork(ForkStage stage) ACRE_NO_THREAD_SAFETY_ANALYSIS {
  g_lock.at_fork(stage);
  if (stage == ForkStage::kInChild && g_session.load() != 0) go_on_in_child();
}

}  // namespace acre::record
