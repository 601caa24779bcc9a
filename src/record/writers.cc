#include "record/writers.h"

#include <errno.h>

#include <new>

#include "base/pause.h"
#include "base/ticks.h"
#include "cache/upcalls.h"
#include "os/os.h"
#include "pages/metadata.h"
#include "record/figures.h"
#include "record/names.h"
#include "record/record.h"
#include "slab/on_runs.h"

namespace acre::record {

constinit Shard* g_shards = nullptr;

namespace {

constinit std::atomic<uint32_t> g_session{0};  // 0: there is no recording
constinit uint32_t g_last_session = 0;
constinit Mutex g_lock{Rank::kRecord};         // the lists, and starts
constinit Recorder* g_recorders ACRE_GUARDED_BY(g_lock) = nullptr;
constinit Recorder* g_spare ACRE_GUARDED_BY(g_lock) = nullptr;

// The common lane. The lock is a thread's token, so that a signal handler finds that its own thread has it.
constinit Recorder* g_common = nullptr;  // made by the first start
constinit std::atomic<ThreadToken> g_common_lock{kNoThread};

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

ACRE_NOINLINE Recorder* enter_slowly(Heap* heap) {
  const uint32_t session = g_session.load(std::memory_order_acquire);
  if (session == 0) return nullptr;
  Recorder* recorder = heap == nullptr ? nullptr : heap->recorder;
  if (heap != nullptr && recorder == nullptr) recorder = heap->recorder = make_recorder();
  if (recorder == nullptr) return enter_common(session);
  const bool is_writing = recorder->session == session && recorder->block != nullptr;
  if (is_writing || !has_lane(*recorder, session, static_cast<uint32_t>(os::thread_number()))) return enter_common(session);
  return recorder;
}

}  // namespace

// Null: the event is not recorded. Otherwise leave() follows.
Recorder* enter(Heap* heap) {
  Recorder* recorder = heap == nullptr ? nullptr : heap->recorder;
  if (recorder == nullptr || recorder->ready_until.load(std::memory_order_relaxed) == nullptr ||
      recorder->session != g_session.load(std::memory_order_acquire)) {
    return enter_slowly(heap);
  }
  enter_own(*recorder);
  return recorder;
}

Recorder* enter_under_locks(Heap* heap) {
  if (heap != nullptr && heap->recorder != nullptr) return enter(heap);
  const uint32_t session = g_session.load(std::memory_order_acquire);
  return session == 0 ? nullptr : enter_common(session);
}

void leave(Recorder& recorder) {
  leave_own(recorder);
  if (is_common(recorder)) g_common_lock.store(kNoThread, std::memory_order_release);
}

bool next_block(Recorder& recorder) {
  if (ACRE_LIKELY(lanes::next_block(recorder))) return names::begin_block(recorder), true;
  stop();
  return false;
}

bool has_lane_now(const Recorder& recorder) { return recorder.session == g_session.load(std::memory_order_relaxed); }

bool is_common(const Recorder& recorder) { return &recorder == g_common; }

ACRE_COLD void end_thread(Heap& heap) {
  Recorder* recorder = heap.recorder;
  heap.recorder = nullptr;
  recorder->ready_until.store(nullptr);
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
  g_session.store(g_last_session, std::memory_order_release);
  return 0;
}

ACRE_COLD int start(const char* place) {
  {
    Lock lock(g_lock);
    if (const int error = start_locked(place, kNoProcess)) return error;
  }
  lanes::wait_until_known();
  return 0;
}

ACRE_COLD void stop() {
  if (g_session.exchange(0) == 0) return;
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
  const uint32_t parents = g_session.exchange(0);
  if (start_locked("", lanes::process_number()) != 0) return;
  Recorder* cuts = make_recorder_locked();
  if (cuts == nullptr || !has_lane(*cuts, g_session.load(), 0)) return stop();
  for (Recorder* recorder = g_recorders; recorder != nullptr; recorder = recorder->next) {
    if (recorder != cuts) recorder->ready_until.store(nullptr);  // a lane of the parent's is none of the child's
    if (recorder->block == nullptr || recorder->session != parents) continue;
    write_cut(*cuts, recorder->number(), recorder->block_number, recorder->used_at_fork());
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
