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

// A word for each shard: the number of the lane that touched it last, plus 1, and how often it has changed lanes.
using Word = uint64_t;
constexpr unsigned kLaneBits = 24;
constexpr Word kLaneMask = (Word{1} << kLaneBits) - 1;
constinit std::atomic<Word>* g_shards = nullptr;

constinit std::atomic<uint32_t> g_session{0};  // 0: there is no recording; a recorder of another session has no lane
constinit uint32_t g_last_session = 0;
constinit Mutex g_lock{Rank::kRecord};         // the lists, and starts
constinit Recorder* g_recorders ACRE_GUARDED_BY(g_lock) = nullptr;
constinit Recorder* g_spare ACRE_GUARDED_BY(g_lock) = nullptr;
constinit Recorder g_common;                   // its is_busy is a lock

// --- Who writes -----------------------------------------------------------------------------------------------

Recorder* make_recorder() {
  Lock lock(g_lock);
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

void enter_session(Recorder& recorder, uint32_t session) {
  recorder.block = nullptr;
  recorder.session.store(session, std::memory_order_relaxed);
}

// The calling thread may be the one that has the lock, in a signal handler: then the event is left out.
Recorder* enter_common(uint32_t session) {
  static constinit std::atomic<ThreadToken> holder{kNoThread};
  while (g_common.is_busy.exchange(true, std::memory_order_acquire)) {
    if (holder.load(std::memory_order_relaxed) == this_thread()) return nullptr;
    pause_processor();
  }
  holder.store(this_thread(), std::memory_order_relaxed);
  if (g_common.session.load(std::memory_order_relaxed) != session) {
    enter_session(g_common, session);
    lanes::begin(g_common, 0);
  }
  if (g_common.block != nullptr) return &g_common;
  g_common.is_busy.store(false, std::memory_order_release);
  return nullptr;
}

ACRE_NOINLINE Recorder* enter_slowly(Heap* heap, uint32_t session) {
  Recorder* recorder = heap == nullptr ? nullptr : heap->recorder;
  if (heap != nullptr && recorder == nullptr) recorder = heap->recorder = make_recorder();
  if (recorder == nullptr || recorder->is_busy.load(std::memory_order_relaxed)) return enter_common(session);
  recorder->is_busy.store(true, std::memory_order_relaxed);
  if (recorder->session.load(std::memory_order_relaxed) != session) {
    enter_session(*recorder, session);
    lanes::begin(*recorder, static_cast<uint32_t>(os::thread_number()));
  }
  if (recorder->block != nullptr) return recorder;
  recorder->is_busy.store(false, std::memory_order_relaxed);
  return enter_common(session);
}

// Null: the event is not recorded. Otherwise leave() follows.
ACRE_ALWAYS_INLINE Recorder* enter(Heap* heap) {
  const uint32_t session = g_session.load(std::memory_order_acquire);
  if (ACRE_UNLIKELY(session == 0)) return nullptr;
  Recorder* recorder = heap == nullptr ? nullptr : heap->recorder;
  if (ACRE_UNLIKELY(recorder == nullptr || recorder->is_busy.load(std::memory_order_relaxed) ||
                    recorder->session.load(std::memory_order_relaxed) != session || recorder->block == nullptr)) {
    return enter_slowly(heap, session);
  }
  recorder->is_busy.store(true, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return recorder;
}

ACRE_ALWAYS_INLINE void leave(Recorder& recorder) {
  lanes::publish(recorder);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  recorder.is_busy.store(false, std::memory_order_release);
}

// --- What comes before an event -------------------------------------------------------------------------------

ACRE_NOINLINE void write_time(Recorder& recorder) {
  recorder.until_time = kEventsPerTime;
  recorder.encoder.time(read_ticks());
  const uint64_t counter = lanes::takeovers().load(std::memory_order_acquire);
  if (counter != recorder.encoder.seen()) recorder.encoder.sync(counter);
}

ACRE_NOINLINE void take_over(Recorder& recorder, unsigned shard) {
  Word word = g_shards[shard].load(std::memory_order_relaxed);
  Word next;
  do {
    next = ((word >> kLaneBits) + 1) << kLaneBits | (recorder.number + 1);
  } while (!g_shards[shard].compare_exchange_weak(word, next, std::memory_order_acq_rel));
  const uint64_t number = lanes::takeovers().fetch_add(1, std::memory_order_acq_rel) + 1;
  recorder.encoder.takeover(shard, next >> kLaneBits, number);
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
  const Word word = g_shards[shard].load(std::memory_order_relaxed);
  if (ACRE_UNLIKELY((word & kLaneMask) != recorder.number + 1)) take_over(recorder, shard);
  return true;
}

ACRE_NOINLINE void write_kind(Recorder& recorder, Kind kind, unsigned alignment_log2) {
  recorder.encoder.kind(kind, alignment_log2);
}

}  // namespace

// --- Events -----------------------------------------------------------------------------------------------------

void allocated(const void* block, size_t asked) {
  Heap* heap = heap_if_any();
  Recorder* recorder = enter(heap);
  if (ACRE_UNLIKELY(recorder == nullptr)) return;
  if (ACRE_LIKELY(begin_event(*recorder, address_of(block)))) {
    if (ACRE_UNLIKELY(heap != nullptr && heap->call.kind != CallKind::kPlain)) {
      asked = heap->call.asked;
      heap->call.is_told = true;
      write_kind(*recorder, static_cast<Kind>(heap->call.kind), heap->call.alignment_log2);
    }
    recorder->encoder.allocated(address_of(block), asked);
  }
  leave(*recorder);
}

void freeing(const void* block) {
  Heap* heap = heap_if_any();
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

void resized(const void* block, size_t asked) {
  Recorder* recorder = enter(heap_if_any());
  if (recorder == nullptr) return;
  if (begin_event(*recorder, address_of(block))) recorder->encoder.resized(address_of(block), asked);
  leave(*recorder);
}

ACRE_COLD void mark(const char* text) {
  Recorder* recorder = enter(heap_if_any());
  if (recorder == nullptr) return;
  if (recorder->encoder.has_room() || next_block(*recorder)) {
    recorder->encoder.time(read_ticks());
    recorder->encoder.text(Op::kMark, text);
  }
  leave(*recorder);
}

ACRE_COLD void end_thread(Heap& heap) {
  Recorder* recorder = heap.recorder;
  heap.recorder = nullptr;
  if (recorder->session.load(std::memory_order_relaxed) == g_session.load() && recorder->block != nullptr) {
    if (recorder->encoder.has_room() || next_block(*recorder)) {
      recorder->encoder.time(read_ticks());
      lanes::end(*recorder);
    }
  }
  recorder->session.store(0);
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

static bool make_shards() {
  constexpr size_t kBytes = sizeof(Word) << kShardsLog2;
  if (g_shards == nullptr) g_shards = static_cast<std::atomic<Word>*>(os::map(kBytes));
  return g_shards != nullptr;
}

static int start_locked(const char* place, uint32_t parent) ACRE_REQUIRES(g_lock) {
  if (g_session.load() != 0) return EBUSY;
  if (!make_shards()) return ENOMEM;
  if (const int error = lanes::attach(place, parent)) return error;
  g_session.store(++g_last_session, std::memory_order_release);
  return 0;
}

ACRE_COLD int start(const char* place) {
  Lock lock(g_lock);
  return start_locked(place, kNoProcess);
}

ACRE_COLD void stop() { g_session.store(0); }

bool is_on() { return g_session.load(std::memory_order_relaxed) != 0; }

// --- fork -----------------------------------------------------------------------------------------------------------

// The child's copies of the recorders tell how far the parent's lanes were.
ACRE_COLD static void write_cuts(Recorder& to) ACRE_REQUIRES(g_lock) {
  for (const Recorder* recorder = g_recorders; recorder != nullptr; recorder = recorder->next) {
    if (recorder->block == nullptr || recorder->session.load() + 1 != g_last_session) continue;
    if (!to.encoder.has_room() && !lanes::next_block(to)) return stop();
    to.encoder.cut(recorder->number, recorder->block_number, recorder->encoder.used());
  }
}

ACRE_COLD static void go_on_in_child() ACRE_REQUIRES(g_lock) {
  const bool had_common = g_common.block != nullptr && g_common.session.load() == g_session.load();
  const uint32_t number = g_common.number, block = g_common.block_number;
  const uint32_t used = had_common ? g_common.encoder.used() : 0;
  g_session.store(0);
  if (start_locked("", lanes::process_number()) != 0) return;
  g_common.is_busy.store(false);
  Recorder* common = enter_common(g_session.load());
  if (common == nullptr) return stop();
  if (had_common) common->encoder.cut(number, block, used);
  write_cuts(*common);
  leave(*common);
}

ACRE_COLD void at_fork(ForkStage stage) ACRE_NO_THREAD_SAFETY_ANALYSIS {
  g_lock.at_fork(stage);
  if (stage == ForkStage::kInChild && g_session.load() != 0) go_on_in_child();
}

}  // namespace acre::record
