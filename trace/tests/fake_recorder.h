// Records as a program on acre does, from threads whose blocks are no memory but numbers: so that the collector, the
// order and the file are tested without the allocator.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "encode.h"
#include "shared.h"
#include "ticks.h"

namespace acre::trace::testing {

// Blocks of all threads: one that is freed is the next that is handed out, so that threads get each other's.
class Addresses {
 public:
  uint64_t take(uint64_t size) {
    const std::lock_guard guard(mutex_);
    std::vector<uint64_t>& blocks = free_[class_of(size)];
    if (!blocks.empty()) {
      const uint64_t address = blocks.back();
      blocks.pop_back();
      return address;
    }
    const uint64_t address = next_;
    next_ += uint64_t{16} << class_of(size);
    return address;
  }
  void give_back(uint64_t address, uint64_t size) {
    const std::lock_guard guard(mutex_);
    free_[class_of(size)].push_back(address);
  }

 private:
  static unsigned class_of(uint64_t size) {
    unsigned log2 = 0;
    while ((uint64_t{16} << log2) < size) ++log2;
    return log2;
  }
  std::mutex mutex_;
  std::array<std::vector<uint64_t>, 40> free_;
  uint64_t next_ = 0x7f0000000000;
};

// A process that records. In the child of a fork a new one is made.
class FakeProcess {
 public:
  FakeProcess(const SharedMemory& memory, uint32_t parent) : shared(memory), words(size_t{1} << record::kShardsLog2) {
    for (unsigned slot = 0; slot < record::kMostProcesses && header == nullptr; ++slot) {
      record::ProcessHeader& candidate = shared.process(slot);
      auto expected = record::ProcessState::kFree;
      if (candidate.state.compare_exchange_strong(expected, record::ProcessState::kStarts)) header = &candidate;
    }
    if (header == nullptr) abort();
    header->number = shared.header().next_process.fetch_add(1);
    header->pid = static_cast<uint32_t>(getpid());
    header->parent = parent;
    header->start_ticks = ticks_now();
    header->start_ns = nanoseconds_of(CLOCK_MONOTONIC);
    header->next_lane = 0;
    header->takeovers = 0;
    header->program = 0;
    header->state.store(record::ProcessState::kRecords);
    notify();
  }

  void notify() const {
    record::SharedHeader& common = shared.header();
    common.filled.fetch_add(1);
    if (common.collector_waits.load() != 0) futex_wake_all(common.filled);
  }

  const SharedMemory& shared;
  record::ProcessHeader* header = nullptr;
  std::vector<std::atomic<uint64_t>> words;  // of shards: epoch << 16 | lane + 1
};

class FakeLane {
 public:
  explicit FakeLane(FakeProcess& process) : process_(process) {
    const SharedMemory& shared = process.shared;
    for (;; ++lane_) {
      if (lane_ == record::kMostLanes) abort();
      auto expected = record::LaneState::kFree;
      if (shared.lane(lane_).state.compare_exchange_strong(expected, record::LaneState::kStarts)) break;
    }
    header_ = &shared.lane(lane_);
    header_->process = process.header->number;
    header_->number = process.header->next_lane.fetch_add(1);
    header_->thread = static_cast<uint32_t>(syscall(SYS_gettid));
    header_->state.store(record::LaneState::kUsed);
    process.notify();
    begin_block();
  }

  uint32_t number() const { return header_->number; }
  uint32_t block() const { return header_->filled.load(); }
  uint32_t used() const { return static_cast<uint32_t>(encoder_.bytes.size()); }

  void allocate(uint64_t size, uint64_t address, uint64_t stack = UINT64_MAX) {
    event(address, [&] {
      if (stack != UINT64_MAX) encoder_.stack(stack);
      encoder_.allocate(size, address);
    });
  }
  void free(uint64_t address) {
    event(address, [&] { encoder_.free(address); });
  }
  template <class F>
  void other(F write) {
    prepare();
    write(encoder_);
    publish();
  }

  bool leave_takeovers_out = false;  // a planted mistake

  void end() {
    other([](Encoder& encoder) { encoder.end(); });
    header_->state.store(record::LaneState::kEnds);
    process_.notify();
  }

 private:
  template <class F>
  void event(uint64_t address, F write) {
    prepare();
    if (ticks_now() - last_time_ > 100000) {
      last_time_ = ticks_now();
      encoder_.time(last_time_);
      encoder_.sync(process_.header->takeovers.load());
    }
    const unsigned shard = record::shard_of(address);
    std::atomic<uint64_t>& word = process_.words[shard];
    uint64_t value = word.load();
    while ((value & 0xffff) != header_->number + 1) {
      const uint64_t epoch = (value >> 16) + 1;
      if (!word.compare_exchange_weak(value, epoch << 16 | (header_->number + 1))) continue;
      const uint64_t number = process_.header->takeovers.fetch_add(1) + 1;
      if (!leave_takeovers_out) encoder_.takeover(shard, epoch, number);
      break;
    }
    write();
    publish();
  }

  void prepare() {
    if (encoder_.has_room()) return;
    header_->filled.store(header_->filled.load() + 1);
    process_.notify();
    begin_block();
  }

  void begin_block() {
    const uint32_t number = header_->filled.load();
    for (;;) {
      const uint32_t taken = header_->taken.load();
      if (number - taken < record::kBlocksPerLane) break;
      if (process_.shared.header().state.load() == record::CollectorState::kEnds) break;
      header_->thread_waits.store(1);
      if (header_->taken.load() == taken) futex_wait(header_->taken, taken, 10000000);
    }
    record::BlockHeader& block = process_.shared.block(lane_, number);
    block.used.store(0);
    block.start_ticks = last_time_ = ticks_now();
    block.seen = process_.header->takeovers.load();
    block.number = number;
    encoder_.begin(block.start_ticks, block.seen);
    copied_ = 0;
  }

  void publish() {
    record::BlockHeader& block = process_.shared.block(lane_, header_->filled.load());
    uint8_t* const events = process_.shared.events(lane_, header_->filled.load());
    std::copy(encoder_.bytes.begin() + copied_, encoder_.bytes.end(), events + copied_);
    copied_ = encoder_.bytes.size();
    block.used.store(static_cast<uint32_t>(copied_));
  }

  FakeProcess& process_;
  unsigned lane_ = 0;
  record::LaneHeader* header_ = nullptr;
  Encoder encoder_;
  size_t copied_ = 0;
  uint64_t last_time_ = 0;
};

}  // namespace acre::trace::testing
