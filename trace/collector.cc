#include "collector.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "say.h"
#include "ticks.h"

namespace acre::trace {

using record::BlockHeader;
using record::CollectorState;
using record::LaneHeader;
using record::LaneState;

namespace {

constexpr uint64_t kMillisecond = 1000000;
constexpr uint64_t kLongestWait = 100 * kMillisecond;
constexpr uint64_t kTick = 10 * kMillisecond;
constexpr uint64_t kLinger = 150 * kMillisecond;  // for a process that was forked, and has not said so yet
constexpr double kStartSeconds = 2;               // in which a program that was started loads acre

}  // namespace

Collector::Collector(const CollectOptions& options) : options_(options), copy_(record::kEventBytes) {
  number_in_slot_.fill(kNone);
}

bool Collector::begin() {
  if (!shared_.make()) {
    say("record: there is no shared memory: %s", strerror(errno));
    return false;
  }
  record::SharedHeader& header = shared_.header();
  header.version = record::kVersion;
  header.collector = static_cast<uint32_t>(getpid());
  header.stack_every = options_.stack_every;
  uint32_t session = 0;
  (void)getrandom(&session, sizeof session, 0);  // std::random_device needs glibc 2.36
  header.clock.store(uint64_t{session | 1u} << 32);
  header.state.store(CollectorState::kCollects);
  header.magic.store(record::kMagic, std::memory_order_release);
  output_.open(options_.path, options_.limit, options_.stack_every, [this] { checkpoint(); });
  if (has_begun()) begin_time();
  if (output_.has_failed()) {
    say("record: %s", output_.failure().c_str());
    return false;
  }
  next_clock_ns_ = nanoseconds_of(CLOCK_MONOTONIC) + kLongestWait;
  watch_ends();
  return true;
}

std::string Collector::setting() const { return std::to_string(getpid()) + '/' + std::to_string(shared_.file()); }

ino_t Collector::inode() const {
  struct stat status;
  return fstat(shared_.file(), &status) == 0 ? status.st_ino : 0;
}

void Collector::interrupt() {
  shared_.header().filled.fetch_add(1);  // so that a wait that begins now does not wait
  futex_wake_all(shared_.header().filled);
}

void Collector::turn() {
  record::SharedHeader& header = shared_.header();
  const uint32_t seen = header.filled.load(std::memory_order_acquire);
  bool busy = look_for_processes();
  const uint64_t now = nanoseconds_of(CLOCK_MONOTONIC);
  const bool is_time = now >= next_housekeeping_ns_;
  busy |= look_at_lanes(is_time);
  if (now >= next_tick_ns_) {
    header.clock.fetch_add(1, std::memory_order_relaxed);
    next_tick_ns_ = now + kTick;
  }
  if (now >= next_samples_ns_) sample_memory();
  if (is_time) {
    housekeeping();
    next_housekeeping_ns_ = now + kLongestWait;
  }
  if (look_for_ends_.exchange(false) || is_time) look_for_ends();
  fail_if_output_did();
  if (busy || has_failed_) return;
  header.collector_waits.store(1);
  if (header.filled.load() == seen) futex_wait(header.filled, seen, kTick);
  header.collector_waits.store(0);
}

void Collector::look_for_lanes() {
  lanes_.clear();
  for (unsigned i = 0; i < record::kMostLanes; ++i) {
    const LaneState state = shared_.lane(i).state.load(std::memory_order_acquire);
    if (state == LaneState::kUsed || state == LaneState::kEnds) lanes_.push_back(i);
    if (state == LaneState::kStarts) lanes_begun_ = UINT64_MAX;  // it has counted already: look again the next time
  }
}

bool Collector::look_at_lanes(bool all) {
  uint64_t begun = 0;
  for (const auto& [number, process] : processes_)
    begun += shared_.process(process.slot).next_lane.load() + (1ull << 32);
  if (all || begun != lanes_begun_) {
    lanes_begun_ = begun;
    look_for_lanes();
  }
  bool busy = false;
  for (const unsigned lane : lanes_) {
    const LaneState state = shared_.lane(lane).state.load(std::memory_order_acquire);
    if (state == LaneState::kUsed || state == LaneState::kEnds) busy |= take_blocks(lane);
  }
  return busy;
}

bool Collector::take_blocks(unsigned lane) {
  LaneHeader& header = shared_.lane(lane);
  const bool ends = header.state.load(std::memory_order_acquire) == LaneState::kEnds;
  Process* process = find(header.process);
  if (process == nullptr) {
    look_for_processes();
    process = find(header.process);
  }
  if (process == nullptr) return false;
  if (!process->threads.contains(header.number)) {
    std::string name = read_all(proc_file(process->pid, "task/") + std::to_string(header.thread) + "/comm");
    if (!name.empty()) name.pop_back();
    process->threads[header.number] = {header.thread, name};
    write_thread(*process, header.number);
  }
  bool busy = false;
  for (;;) {
    const uint32_t taken = header.taken.load(std::memory_order_relaxed);
    const uint32_t filled = header.filled.load(std::memory_order_acquire);
    if (filled == taken) break;
    if (filled - taken > record::kBlocksPerLane) {  // the program has overwritten it; the thread may wait for it
      header.taken.store(filled);
      futex_wake_all(header.taken);
      break;
    }
    const BlockHeader& block = shared_.block(lane, taken);
    output_.hurry(filled - taken == record::kBlocksPerLane);  // the thread waits
    write_block(*process, lane, taken, block.used.load(std::memory_order_acquire));
    header.taken.store(taken + 1);
    if (header.thread_waits.load() != 0) {
      header.thread_waits.store(0);
      futex_wake_all(header.taken);
    }
    busy = true;
  }
  if (ends) {
    take_last_block(lane);
    process->threads.erase(header.number);
    free_lane(lane);
    busy = true;
  }
  return busy;
}

// What lies in the block that is not filled.
void Collector::take_last_block(unsigned lane) {
  LaneHeader& header = shared_.lane(lane);
  const uint32_t number = header.filled.load(std::memory_order_acquire);
  if (number - header.taken.load() >= record::kBlocksPerLane) return;  // it was not begun
  const uint32_t used = used_so_far(shared_.block(lane, number), number);
  Process* const process = find(header.process);
  if (process != nullptr && used != 0) write_block(*process, lane, number, used);
}

void Collector::write_block(Process& process, unsigned lane, uint32_t number, uint32_t used) {
  const BlockHeader& block = shared_.block(lane, number);
  ChunkHeader chunk;
  chunk.type = ChunkType::kEvents;
  chunk.process = process.number;
  chunk.lane = shared_.lane(lane).number;
  chunk.block = number;
  chunk.first_ticks = block.start_ticks;
  chunk.seen = block.seen;
  if (used > record::kEventBytes) {
    used = record::kEventBytes;
    chunk.flags |= kDamaged;
  }
  memcpy(copy_.data(), shared_.events(lane, number), used);  // the program may be overwriting it by mistake
  const std::span<const uint8_t> bytes{copy_.data(), used};
  const Skimmed found = Skimmer(bytes, chunk.first_ticks).run([&](uint64_t stack, std::span<const uint8_t> event) {
    if (options_.limit == 0 || !process.stack_numbers.insert(stack).second) return;
    process.stacks.insert(process.stacks.end(), event.begin(), event.end());
  });
  if (!found.is_whole) chunk.flags |= kDamaged;
  chunk.events = found.events;
  chunk.last_ticks = found.ticks;
  lost_ += found.lost;
  if (!output_.write(chunk, bytes)) return;
  events_ += chunk.events;
  raw_bytes_ += used;
}

void Collector::free_lane(unsigned lane) {
  LaneHeader& header = shared_.lane(lane);
  shared_.release_blocks(lane);
  header.filled.store(0);
  header.taken.store(0);
  header.thread_waits.store(0);
  header.state.store(LaneState::kFree, std::memory_order_release);
}

Collector::Process* Collector::find(uint32_t number) {
  const auto found = processes_.find(number);
  return found == processes_.end() ? nullptr : &found->second;
}

void Collector::fail_if_output_did() {
  if (has_failed_ || !output_.has_failed()) return;
  has_failed_ = true;
  say("record: %s; the recording ends here, and what was written can be read%s", output_.failure().c_str(),
      options_.attach || !options_.program.empty() ? "; the program goes on" : "");
  shared_.header().state.store(CollectorState::kEnds);
  for (unsigned i = 0; i < record::kMostLanes; ++i) futex_wake_all(shared_.lane(i).taken);
}

bool Collector::is_over() {
  if (has_failed_) return true;
  const uint64_t now = nanoseconds_of(CLOCK_MONOTONIC);
  const bool has_bound = options_.seconds > 0 && has_begun();
  if (has_bound && static_cast<double>(now - began_ns_) > options_.seconds * 1e9) return true;
  if (program_ != 0 || !processes_.empty() || !has_begun()) {
    over_since_ns_ = 0;
    return false;
  }
  if (over_since_ns_ == 0) over_since_ns_ = now;
  if (now - over_since_ns_ < kLinger && processes_seen_ != 0) return false;
  look_for_processes();
  if (!processes_.empty()) return false;
  const std::string words = options_.attach ? "" : "record:" + setting();
  if (!a_program_may_come(words, inode(), kStartSeconds, 0)) return true;
  over_since_ns_ = now;
  return false;
}

void Collector::finish() {
  if (is_finished_) return;
  is_finished_ = true;
  record::SharedHeader& header = shared_.header();
  look_for_processes();
  if (!has_failed_) {
    look_at_lanes(true);
    header.state.store(CollectorState::kEnds);
    for (unsigned i = 0; i < record::kMostLanes; ++i) {
      const LaneState state = shared_.lane(i).state.load(std::memory_order_acquire);
      if (state != LaneState::kUsed && state != LaneState::kEnds) continue;
      take_blocks(i);
      if (shared_.lane(i).state.load(std::memory_order_acquire) == LaneState::kUsed) take_last_block(i);
    }
    for (auto& [number, process] : processes_) {
      write_mappings(process, false);
      write_samples(process);
      ChunkHeader chunk;
      chunk.type = ChunkType::kProcessEnd;
      chunk.process = number;
      chunk.lane = static_cast<uint32_t>(Ending::kRuns);
      chunk.block = 0;
      chunk.first_ticks = chunk.last_ticks = ticks_now();
      output_.write(chunk, std::string_view());
    }
    write_clock();
  }
  header.state.store(CollectorState::kEnds);
  for (unsigned i = 0; i < record::kMostLanes; ++i) futex_wake_all(shared_.lane(i).taken);
  fail_if_output_did();
  if (!output_.finish()) fail_if_output_did();
}

void Collector::report() {
  if (has_failed_) return;
  if (processes_seen_ == 0) {
    say("record: nothing was recorded: acre was not loaded in %s",
        options_.program.empty() ? "the program" : options_.program[0].c_str());
    return;
  }
  const double bytes = static_cast<double>(output_.bytes());
  std::string size = bytes < 1e6 ? std::to_string(static_cast<int>(bytes / 1024 + 0.5)) + " KiB"
                                 : std::to_string(static_cast<int>(bytes / 1048576 + 0.5)) + " MiB";
  char each[64] = "";
  if (events_ != 0 && output_.dropped_segments() == 0) {
    snprintf(each, sizeof each, ", %.2f bytes an event", bytes / static_cast<double>(events_));
  }
  say("record: wrote %s: %llu events of %llu process%s in %s%s", options_.path.c_str(),
      static_cast<unsigned long long>(events_), static_cast<unsigned long long>(processes_seen_),
      processes_seen_ == 1 ? "" : "es", size.c_str(), each);
  if (output_.dropped_segments() != 0) say("record: the bound was reached: the oldest events were dropped");
  if (const uint32_t refused = shared_.header().refused.load(); refused != 0) {
    say("record: %u times a thread or process found no entry: at most %u threads and %u processes at a time are "
        "recorded",
        refused, record::kMostLanes, record::kMostProcesses);
  }
  if (lost_ != 0) say("record: %llu events were lost", static_cast<unsigned long long>(lost_));
}

}  // namespace acre::trace
