#include "schedule.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "blocks.h"
#include "order.h"
#include "progress.h"
#include "residence.h"
#include "schedule_words.h"

namespace acre::trace {

using record::Kind;
using replay::Op;

namespace {

constexpr uint64_t kLeastEvents = 16;  // of each lane, on average between two samples: fewer would be all waits
constexpr uint64_t kFewSamples = 64;   // but not fewer samples than that
constexpr uint64_t kProgressEvery = 1 << 16;  // events
constexpr double kMostSeconds = 1e8;   // of a recording: clocks in a file may be wrong

struct Block {
  uint64_t size = 0;
  uint32_t slot = 0;
};

// A realloc of which only one event was seen by now.
struct Half {
  std::optional<Event> to;
  std::optional<Block> from;
};

// The kernel's number of the process, which is that of its main thread. 0: unknown.
uint32_t pid_of(Reader& reader, uint32_t process) {
  std::vector<uint8_t> payload;
  for (const Chunk& chunk : reader.chunks()) {
    if (chunk.header.type != ChunkType::kProcessStart || chunk.header.process != process) continue;
    if (!reader.read(chunk, payload)) continue;
    const std::string text(payload.begin(), payload.end());
    const size_t at = text.find("\"pid\":");
    if (at != std::string::npos) return static_cast<uint32_t>(strtoul(text.c_str() + at + 6, nullptr, 10));
  }
  return 0;
}

class Builder {
 public:
  Builder(Reader& reader, const ScheduleOptions& options, ScheduleResult& result)
      : options_(options),
        result_(result),
        order_(reader, [&](const Problem& problem) { result.problems += problem.kind != Problem::kNoOrder; }),
        blocks_(reader, order_),
        clock_(reader) {
    choose(reader);
    memory_.read(reader, result_.process);
    pid_ = pid_of(reader, result_.process);
  }

  bool run() {
    if (!result_.error.empty()) return false;
    if (words_.open(options_.output)) {
      Merged merged;
      const uint64_t all = result_.other_events + chosen_events_;
      for (uint64_t count = 0; words_.error().empty() && order_.next(merged); of_event(merged)) {
        if (!is_of_block(merged.event->what) || ++count % kProgressEvery != 0) continue;
        progress_.say("reads the recording:", static_cast<double>(count) / static_cast<double>(all));
      }
      for (auto& [lane, half] : halves_) end_half(thread_of(lane, 0), half);
      if (until_sample_ != sample_each_ || words_.samples() == 0) sample();
      words_.finish(result_.peak_bytes);
    }
    memory_.sum_up(first_ticks_, last_ticks_, result_.resident_peak, result_.resident_mean);
    result_.error = words_.error();
    result_.operations = words_.operations();
    result_.threads = words_.threads();
    result_.slots = words_.slots();
    result_.waits = words_.waits();
    result_.samples = words_.samples();
    result_.bytes = words_.bytes();
    result_.seconds = static_cast<double>(ns_of(last_ticks_)) / 1e9;
    return result_.error.empty();
  }

 private:
  void choose(Reader& reader) {
    std::map<uint32_t, uint64_t> events;
    std::map<uint32_t, std::set<uint32_t>> lanes;
    for (const Chunk& chunk : reader.chunks()) {
      if (chunk.header.type != ChunkType::kEvents) continue;
      events[chunk.header.process] += chunk.header.events;
      lanes[chunk.header.process].insert(chunk.header.lane);
    }
    if (options_.process && !events.contains(*options_.process)) {
      result_.error = "process " + std::to_string(*options_.process) + " has no events in it: see acre trace --info";
      return;
    }
    if (events.empty()) {
      result_.error = "there are no events in it";
      return;
    }
    result_.process = options_.process.value_or(events.begin()->first);
    for (const auto& [process, count] : events) {
      if (!options_.process && count > events[result_.process]) result_.process = process;
      result_.other_events += count;
    }
    const uint64_t most = chosen_events_ = events[result_.process];
    result_.other_events -= most;
    result_.other_processes = events.size() - 1;
    const uint64_t wanted = kLeastEvents * lanes[result_.process].size();
    const uint64_t each = std::clamp(wanted, most / ScheduleWords::kSamples, most / kFewSamples);
    sample_each_ = until_sample_ = std::max(kLeastEvents, each);
    // Its parents' blocks up to the fork are its own, too.
    for (uint32_t process = result_.process; process != kNone && !lineage_.contains(process);) {
      lineage_.insert(process);
      const auto facts = order_.processes().find(process);
      process = facts == order_.processes().end() ? kNone : facts->second.parent;
    }
  }

  void sample() {
    // The headers' counts of events may be wrong.
    if (words_.samples() != 0 && words_.samples() % (2 * ScheduleWords::kSamples) == 0) sample_each_ *= 2;
    until_sample_ = sample_each_;
    words_.sample(live_bytes_, static_cast<uint64_t>(memory_.at(last_ticks_)));
  }

  uint64_t ns_of(uint64_t ticks) const {
    if (!has_begun_) return 0;
    const double seconds = clock_.seconds(ticks) - clock_.seconds(first_ticks_);
    return static_cast<uint64_t>(std::clamp(seconds, 0.0, kMostSeconds) * 1e9);
  }

  uint32_t thread_of(uint32_t lane, uint32_t kernel_thread) {
    const auto found = lanes_.find(lane);
    if (found != lanes_.end()) return found->second;
    const bool is_main = kernel_thread != 0 && kernel_thread == pid_ && !has_main_;
    has_main_ |= is_main;
    return lanes_[lane] = is_main ? 0 : words_.add_thread();
  }

  // --- Events ---------------------------------------------------------------------------------------------------

  void of_event(const Merged& merged) {
    std::vector<uint64_t> inherited;
    blocks_.before(merged, [&](uint32_t process, uint64_t address, const Block&) {
      if (process == result_.process) inherited.push_back(address);
      return lineage_.contains(process);
    });
    if (merged.process != result_.process) {
      if (is_of_block(merged.event->what) && lineage_.contains(merged.process)) of_ancestor(merged);
      return;
    }
    if (!has_begun_) first_ticks_ = last_ticks_ = merged.event->ticks;
    has_begun_ = true;
    inherit(inherited);
    const Event& event = *merged.event;
    if (event.what == What::kLost) result_.lost += event.numbers[0];
    if (!is_of_block(event.what)) return;
    last_ticks_ = std::max(last_ticks_, event.ticks);
    words_.set_time(ns_of(last_ticks_));
    const uint32_t thread = thread_of(merged.lane, merged.thread);
    of_block(thread, halves_[merged.lane], event);
    if (--until_sample_ == 0) sample();
  }

  // Of a realloc, the block that it left and the one that it got come one behind the other.
  void of_block(uint32_t thread, Half& half, const Event& event) {
    if (event.what == What::kFree && event.kind == Kind::kReallocFrom) {
      Block block;
      const bool is_known = blocks_.take(result_.process, event.address, block);
      result_.earlier += !is_known;
      const std::optional<Event> to = std::exchange(half.to, {});
      end_half(thread, half);
      if (to && is_known)
        move(thread, block, *to);
      else if (to)
        allocate(thread, *to);
      else if (is_known)
        half.from = block;
      return;
    }
    if (event.what == What::kAllocate && event.kind == Kind::kReallocTo) {
      const std::optional<Block> from = std::exchange(half.from, {});
      end_half(thread, half);
      if (from)
        move(thread, *from, event);
      else
        half.to = event;
      return;
    }
    end_half(thread, half);
    if (event.what == What::kAllocate) {
      allocate(thread, event);
    } else if (event.what == What::kFree) {
      release(thread, event.address, event.kind == Kind::kSized ? Op::kSizedFree : Op::kFree);
    } else if (Block* const block = blocks_.find(result_.process, event.address)) {
      resize(thread, *block, event.size);
    } else {
      ++result_.earlier;
    }
  }

  // The other half is missing, as where a program was killed in between.
  void end_half(uint32_t thread, Half& half) {
    if (half.to) allocate(thread, *std::exchange(half.to, {}));
    if (half.from) release(thread, *std::exchange(half.from, {}), Op::kFree);
  }

  void of_ancestor(const Merged& merged) {
    const Event& event = *merged.event;
    Block block;
    if (event.what == What::kFree) {
      blocks_.take(merged.process, event.address, block);
    } else if (event.what == What::kAllocate || blocks_.find(merged.process, event.address) != nullptr) {
      blocks_.put(merged.process, event.address, {event.size, 0});
    }
  }

  void inherit(std::vector<uint64_t>& addresses) {
    std::sort(addresses.begin(), addresses.end());
    for (const uint64_t address : addresses) {
      Block& block = *blocks_.find(result_.process, address);
      block.slot = words_.new_slot(0);
      words_.operate(0, Op::kMalloc, block.slot, block.size);
      count(block.size, 0);
      ++result_.inherited;
    }
  }

  void count(uint64_t more, uint64_t less) {
    live_bytes_ += more - less;
    result_.peak_bytes = std::max(result_.peak_bytes, live_bytes_);
      }

  void allocate(uint32_t thread, const Event& event) {
    if (blocks_.find(result_.process, event.address) != nullptr) {
      ++result_.contradictions;
      release(thread, event.address, Op::kFree);
    }
    const uint32_t slot = words_.new_slot(thread);
    const bool is_aligned = event.kind == Kind::kAligned;
    const Op op = is_aligned ? Op::kAligned : event.kind == Kind::kZeroed ? Op::kCalloc : Op::kMalloc;
    words_.operate(thread, op, slot, event.size, is_aligned ? event.align_log2 : 0);
    blocks_.put(result_.process, event.address, {event.size, slot});
    count(event.size, 0);
  }

  void release(uint32_t thread, uint64_t address, Op op) {
    Block block;
    if (blocks_.take(result_.process, address, block))
      release(thread, block, op);
    else
      ++result_.earlier;
  }

  void release(uint32_t thread, const Block& block, Op op) {
    words_.operate(thread, op, block.slot, 0);
    words_.empty(block.slot, thread);
    count(0, block.size);
  }

  void resize(uint32_t thread, Block& block, uint64_t size) {
    words_.operate(thread, Op::kRealloc, block.slot, size);
    count(size, block.size);
    block.size = size;
  }

  void move(uint32_t thread, Block block, const Event& to) {
    if (blocks_.find(result_.process, to.address) != nullptr) {
      ++result_.contradictions;
      release(thread, to.address, Op::kFree);
    }
    resize(thread, block, to.size);
    blocks_.put(result_.process, to.address, block);
  }

  const ScheduleOptions& options_;
  ScheduleResult& result_;
  Order order_;
  Blocks<Block> blocks_;
  const Clock clock_;
  ScheduleWords words_;
  std::set<uint32_t> lineage_;                    // the process and its parents
  std::unordered_map<uint32_t, uint32_t> lanes_;  // lane → thread
  std::unordered_map<uint32_t, Half> halves_;     // by lane
  Residence memory_;
  Progress progress_{"replay"};
  uint64_t chosen_events_ = 0;  // as the headers of the process's blocks count them
  uint64_t sample_each_ = 0, until_sample_ = 0;
  uint64_t first_ticks_ = 0, last_ticks_ = 0;
  uint64_t live_bytes_ = 0;
  uint32_t pid_ = 0;
  bool has_begun_ = false;
  bool has_main_ = false;
};

}  // namespace

ScheduleResult make_schedule(const ScheduleOptions& options) {
  ScheduleResult result;
  Reader reader;
  if (!reader.open(options.path)) {
    result.error = reader.error();
    return result;
  }
  Builder builder(reader, options, result);
  if (!builder.run() && !result.error.empty() && !result.error.starts_with("cannot write")) {
    result.error = options.path + ": " + result.error;
  }
  result.problems += reader.damaged_bytes() != 0;
  return result;
}

}  // namespace acre::trace
