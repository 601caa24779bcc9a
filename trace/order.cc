#include "order.h"

#include <algorithm>
#include <cstring>

#include "order_process.h"

namespace acre::trace {

namespace {

// By which a takeover may stand before the one that it waits for, where the file may lack that.
constexpr double kSlackSeconds = 0.01;

}  // namespace

Order::Order(Reader& reader, std::function<void(const Problem&)> report) : reader_(reader), report_(std::move(report)) {
  collect_facts();
  const Clock clock(reader);
  const auto slack = static_cast<uint64_t>(kSlackSeconds * clock.ticks_per_second());
  std::map<uint32_t, uint64_t> first;
  for (uint32_t i = 0; i < reader_.chunks().size(); ++i) {
    const ChunkHeader& header = reader_.chunks()[i].header;
    if (header.type != ChunkType::kEvents) continue;
    ProcessFacts& facts = facts_[header.process];
    facts.number = header.process;
    auto& order = orders_[header.process];
    if (!order) order = std::make_unique<ProcessOrder>(*this, header.process, facts);
    order->add(i);
    const auto [entry, is_new] = first.try_emplace(header.process, header.first_ticks);
    if (!is_new) entry->second = std::min(entry->second, header.first_ticks);
  }
  const bool may_lack = reader_.damaged_bytes() != 0;
  for (auto& [process, order] : orders_) {
    facts_[process].lossy |= may_lack;
    order->begin(slack);
    if (facts_[process].parent != kNone) order->read_cuts();
    queue_.push({first[process], process});
  }
}

Order::~Order() = default;

void Order::collect_facts() {
  for (const Chunk& chunk : reader_.chunks()) {
    const ChunkHeader& header = chunk.header;
    if (header.process == kNone) continue;
    ProcessFacts& facts = facts_[header.process];
    facts.number = header.process;
    std::vector<uint8_t> payload;
    switch (header.type) {
      case ChunkType::kProcessStart:
        facts.parent = header.lane;
        facts.start_ticks = header.first_ticks;
        break;
      case ChunkType::kProcessEnd:
        facts.has_end = true;
        facts.ending = static_cast<Ending>(std::min(header.lane, static_cast<uint32_t>(Ending::kStopped)));
        facts.status = header.block;
        facts.end_ticks = header.first_ticks;
        break;
      case ChunkType::kThread:
        facts.threads[header.lane] = header.block;
        if (reader_.read(chunk, payload)) facts.names[header.lane].assign(payload.begin(), payload.end());
        break;
      default: break;
    }
  }
}

bool Order::may_begin(uint32_t process) {
  const ProcessFacts& facts = facts_[process];
  const auto parent = orders_.find(facts.parent);
  if (parent == orders_.end() || facts.parent >= process || parent->second->has_passed(facts)) return true;
  parked_[facts.parent].push_back(process);
  return false;
}

void Order::push(uint32_t process) {
  uint64_t ticks;
  if (orders_[process]->peek(ticks)) queue_.push({ticks, process});
}

bool Order::next(Merged& merged) {
  if (last_ != kNone) {
    const uint32_t last = last_;
    last_ = kNone;
    orders_[last]->advance();
    push(last);
    if (const auto parked = parked_.find(last); parked != parked_.end()) {
      const std::vector<uint32_t> children = std::move(parked->second);
      parked_.erase(parked);
      for (const uint32_t child : children) {
        if (may_begin(child)) push(child);
      }
    }
  }
  while (!queue_.empty()) {
    const uint32_t process = queue_.top().process;
    queue_.pop();
    ProcessOrder& order = *orders_[process];
    if (!may_begin(process)) continue;
    uint64_t ticks;
    if (!order.peek(ticks)) continue;
    if (!queue_.empty() && ticks > queue_.top().ticks) {  // it was queued by the time of a block
      queue_.push({ticks, process});
      continue;
    }
    order.take(merged);
    last_ = process;
    return true;
  }
  return false;
}

const char* name_of(Ending ending) {
  constexpr const char* kNames[] = {"unknown", "exit", "signal", "exec", "runs", "stopped"};
  return kNames[static_cast<size_t>(ending)];
}

Shard Order::shard(uint32_t process, unsigned number) const { return orders_.at(process)->shard(number); }

bool Order::any_lane_was_cut(uint32_t process) const { return orders_.at(process)->any_lane_was_cut(); }

Clock::Clock(Reader& reader) {
  std::vector<uint8_t> payload;
  for (const Chunk& chunk : reader.chunks()) {
    if (chunk.header.type != ChunkType::kClock || !reader.read(chunk, payload)) continue;
    for (size_t at = 0; at + sizeof(ClockPair) <= payload.size(); at += sizeof(ClockPair)) {
      ClockPair pair;
      memcpy(&pair, payload.data() + at, sizeof pair);
      if (pairs_.empty() || (pair.ticks > pairs_.back().ticks && pair.monotonic_ns > pairs_.back().monotonic_ns)) {
        pairs_.push_back(pair);
      }
    }
  }
  if (pairs_.size() < 2) return;
  const double ns = static_cast<double>(pairs_.back().monotonic_ns - pairs_.front().monotonic_ns);
  rate_ = static_cast<double>(pairs_.back().ticks - pairs_.front().ticks) * 1e9 / ns;
}

double Clock::seconds(uint64_t ticks) const {
  if (pairs_.empty()) return static_cast<double>(ticks) / rate_;
  return (static_cast<double>(static_cast<int64_t>(ticks - pairs_.front().ticks))) / rate_;
}

uint64_t Clock::realtime_ns(uint64_t ticks) const {
  if (pairs_.empty()) return 0;
  return pairs_.front().realtime_ns + static_cast<uint64_t>(static_cast<int64_t>(seconds(ticks) * 1e9));
}

}  // namespace acre::trace
