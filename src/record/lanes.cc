#include "record/lanes.h"

#include <errno.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/text.h"
#include "base/ticks.h"
#include "os/os.h"

namespace acre::record::lanes {

constinit std::atomic<const std::atomic<uint64_t>*> g_clock{nullptr};

namespace {

constinit std::atomic<uint64_t> g_no_clock{0};

constexpr uint64_t kLookForCollectorMs = 1000;
constexpr unsigned kLooksAtStart = 5;

constinit std::atomic<char*> g_memory{nullptr};
constinit ProcessHeader* g_process = nullptr;
// Lanes of all recordings of this process, and of its parents' up to the fork: words of earlier ones may be in the shards,
// so no lane gets a number that was there.
constinit std::atomic<uint32_t> g_next_lane{0};
constinit Mutex g_lanes_lock{Rank::kLanes};  // from a lane's number to its first block

SharedHeader& shared() { return *reinterpret_cast<SharedHeader*>(g_memory.load(std::memory_order_relaxed)); }
LaneHeader& lane_at(unsigned index) {
  return reinterpret_cast<LaneHeader*>(g_memory.load(std::memory_order_relaxed) + kLanesAt)[index];
}

void notify() {
  SharedHeader& header = shared();
  header.filled.fetch_add(1);
  if (header.collector_waits.exchange(0) != 0) os::wake_shared(header.filled);
}

// Takes an entry that is free. Null: there is none.
template <class Header, class State>
Header* take(Header* first, unsigned count, unsigned from, State free, State starts) {
  for (unsigned i = 0; i < count; ++i) {
    Header& header = first[(from + i) % count];
    State seen = free;
    if (header.state.load(std::memory_order_relaxed) == free && header.state.compare_exchange_strong(seen, starts)) {
      return &header;
    }
  }
  shared().refused.fetch_add(1);
  return nullptr;
}

// Of the random bytes that the kernel gives each program; they cannot be computed from it.
uint32_t identity_of_program() {
  const Address random = getauxval(AT_RANDOM);
  return random == 0 ? 0 : static_cast<uint32_t>(word_at(random) * kHashFactor >> 32);
}

int enter_process(uint32_t parent) {
  auto* first = reinterpret_cast<ProcessHeader*>(g_memory.load() + kProcessesAt);
  ProcessHeader* process = take(first, kMostProcesses, 0, ProcessState::kFree, ProcessState::kStarts);
  if (process == nullptr) return EAGAIN;
  process->number = shared().next_process.fetch_add(1);
  process->pid = static_cast<uint32_t>(getpid());
  process->parent = parent;
  process->program = identity_of_program();
  process->start_ticks = read_ticks();
  process->start_ns = os::now_ns();
  process->next_lane.store(0);
  process->takeovers.store(0);
  process->is_known.store(0);
  process->state.store(ProcessState::kRecords, std::memory_order_release);
  g_process = process;
  g_clock.store(&shared().clock);
  notify();
  return 0;
}

// Maps /proc/COLLECTOR/fd/NUMBER.
int map(const char* place) {
  Line<64> path;
  path.add("/proc/");
  for (; *place != '\0' && *place != '/'; ++place) path.add(*place);
  path.add("/fd").add(place);
  const os::OpenFile file = os::open_to_map(path.c_str(), os::FileKind::kDevice);
  if (file.descriptor < 0) return file.error;
  void* memory = os::reserve(kSharedBytes);
  const bool done = memory != nullptr && os::map_file_at(memory, kSharedBytes, file, 0, os::Sharing::kShared);
  os::close_file(file);
  if (!done) {
    if (memory != nullptr) os::unmap(memory, kSharedBytes);
    return ENOMEM;
  }
  const auto& header = *static_cast<const SharedHeader*>(memory);
  if (header.magic.load(std::memory_order_acquire) != kMagic || header.version != kVersion) {
    os::unmap(memory, kSharedBytes);
    return EPROTO;
  }
  g_memory.store(static_cast<char*>(memory));
  return 0;
}

void begin_block(Recorder& recorder) {
  auto* block = reinterpret_cast<BlockHeader*>(recorder.blocks + recorder.block_number % kBlocksPerLane * kBlockBytes);
  const uint64_t ticks = read_ticks();
  const uint64_t seen = g_process->takeovers.load(std::memory_order_acquire);
  block->used.store(0, std::memory_order_relaxed);
  block->start_ticks = ticks;
  block->seen = seen;
  block->number.store(recorder.block_number, std::memory_order_release);
  recorder.block = block;
  recorder.encoder.begin(reinterpret_cast<uint8_t*>(block + 1), ticks, seen);
}

// Waits while all blocks of the ring are filled.
bool wait_for_collector(LaneHeader& lane, uint32_t filled) {
  for (;;) {
    const uint32_t taken = lane.taken.load(std::memory_order_acquire);
    if (filled - taken < kBlocksPerLane) return true;
    if (!is_collected()) return false;
    lane.thread_waits.store(1);
    if (lane.taken.load() == taken) os::wait_while_shared(lane.taken, taken, kLookForCollectorMs);
    if (lane.taken.load() == taken && !os::is_running(shared().collector)) return false;
  }
}

}  // namespace

int attach(const char* place, uint32_t parent) {
  const int error = g_memory.load() != nullptr && parent != kNoProcess ? 0 : map(place);
  return error != 0 ? error : enter_process(parent);
}

void wait_until_known() {
  const std::atomic<uint32_t>& is_known = g_process->is_known;
  for (unsigned looks = 0; looks < kLooksAtStart && is_known.load() == 0 && is_collected(); ++looks) {
    os::wait_while_shared(is_known, 0, kLookForCollectorMs);
    if (!os::is_running(shared().collector)) return;
  }
}

uint32_t process_number() { return g_process == nullptr ? kNoProcess : g_process->number; }

uint32_t next_lane_number() { return g_next_lane.load(); }

uint32_t stack_every() { return shared().stack_every; }

bool is_collected() { return shared().state.load(std::memory_order_relaxed) == CollectorState::kCollects; }

bool begin(Recorder& recorder, uint32_t thread) {
  LaneHeader* first = &lane_at(0);
  LaneHeader* lane = take(first, kMostLanes, thread % kMostLanes, LaneState::kFree, LaneState::kStarts);
  if (lane == nullptr) return false;
  lane->process = g_process->number;
  lane->thread = thread;
  lane->filled.store(0);
  lane->taken.store(0);
  lane->thread_waits.store(0);
  recorder.lane = lane;
  recorder.clock = &shared().clock;
  recorder.clock_seen = 0;
  recorder.blocks = reinterpret_cast<uint8_t*>(g_memory.load()) + kBlocksAt + static_cast<size_t>(lane - first) * kLaneBytes;
  recorder.block_number = 0;
  for (unsigned i = 0; i < kBlocksPerLane; ++i) {  // the lane's last thread has left numbers there
    reinterpret_cast<BlockHeader*>(recorder.blocks + i * kBlockBytes)->number.store(UINT32_MAX);
  }
  {
    Lock lock(g_lanes_lock);
    lane->number = g_next_lane.fetch_add(1);
    recorder.name_in_shards = lane->number + 1;
    begin_block(recorder);
  }
  g_process->next_lane.fetch_add(1);
  lane->state.store(LaneState::kUsed, std::memory_order_release);
  notify();
  return true;
}

void end(Recorder& recorder) {
  recorder.encoder.end();
  publish(recorder);
  recorder.lane->state.store(LaneState::kEnds, std::memory_order_release);
  recorder.block = nullptr;
  notify();
}

bool next_block(Recorder& recorder) {
  publish(recorder);
  const uint32_t filled = recorder.block_number + 1;
  recorder.lane->filled.store(filled, std::memory_order_release);
  notify();
  if (!wait_for_collector(*recorder.lane, filled)) return false;
  recorder.block_number = filled;  // not before: a child forked meanwhile tells that the lane was at the old one's end
  std::atomic_signal_fence(std::memory_order_seq_cst);  // before the encoder: see used_at_fork()
  begin_block(recorder);
  return true;
}

void at_fork(ForkStage stage) { g_lanes_lock.at_fork(stage); }

void leave() {
  g_clock.store(&g_no_clock);
  g_process->state.store(ProcessState::kEnded, std::memory_order_release);
  notify();
}

std::atomic<uint64_t>& takeovers() { return g_process->takeovers; }

}  // namespace acre::record::lanes
