#include "compose.h"

#include <algorithm>
#include <cstring>

#include "say.h"

namespace acre::trace {

using record::Kind;

namespace {
constexpr uint32_t kProcess = 0;
// Times are written down each so many events, or where so many ns have passed.
constexpr unsigned kEventsPerTime = 16;
constexpr uint64_t kNsPerTime = 100'000;

ChunkHeader header_of(ChunkType type) {
  ChunkHeader header;
  header.type = type;
  header.process = kProcess;
  return header;
}
}  // namespace

bool Composer::open(const std::string& path, uint32_t stack_every, std::string_view start) {
  path_ = path;
  shards_.assign(size_t{1} << record::kShardsLog2, {0, 0});
  const FileHeader header = new_file_header(stack_every);
  realtime_ns_ = header.realtime_ns;
  if (!writer_.open(path, header)) {
    say("trace: cannot write '%s': %s", path.c_str(), strerror(writer_.error()));
    return false;
  }
  return write(header_of(ChunkType::kProcessStart), start.data(), start.size());
}

bool Composer::write(const ChunkHeader& header, const void* data, size_t bytes) {
  if (writer_.write(header, std::span(static_cast<const uint8_t*>(data), bytes))) return true;
  if (!has_said_) say("trace: cannot write '%s': %s", path_.c_str(), strerror(writer_.error()));
  has_said_ = true;
  return false;
}

void Composer::begin_block(Lane& lane, uint64_t ns) {
  lane.encoder.begin(ns, takeovers_);
  lane.first_ns = lane.last_ns = ns;
  lane.seen = takeovers_;
  lane.events = 0;
  lane.since_time = 0;
}

void Composer::write_block(const Lane& lane) {
  ChunkHeader header = header_of(ChunkType::kEvents);
  header.lane = lane.number;
  header.block = lane.block;
  header.first_ticks = lane.first_ns;
  header.last_ticks = lane.last_ns;
  header.seen = lane.seen;
  header.events = lane.events;
  write(header, lane.encoder.bytes.data(), lane.encoder.bytes.size());
}

Composer::Lane& Composer::lane_of(uint32_t thread, uint64_t ns) {
  const auto [entry, is_new] = by_thread_.try_emplace(thread, lanes_.size());
  if (!is_new) return lanes_[entry->second];
  Lane& lane = lanes_.emplace_back();
  lane.number = static_cast<uint32_t>(entry->second);
  begin_block(lane, ns);
  ChunkHeader header = header_of(ChunkType::kThread);
  header.lane = lane.number;
  header.block = thread;
  write(header, nullptr, 0);
  return lane;
}

Composer::Lane& Composer::prepare(uint32_t thread, uint64_t ns) {
  now_ = std::max(now_, ns);
  Lane& lane = lane_of(thread, now_);
  const bool is_other = lane.number != last_lane_;
  last_lane_ = lane.number;
  // A stack, a time, a sync, a takeover and the event itself.
  if (lane.encoder.bytes.size() + 2 * record::kMostEvent > record::kEventBytes) {
    write_block(lane);
    ++lane.block;
    begin_block(lane, now_);
  }
  if (is_other && lane.encoder.seen() < takeovers_) lane.encoder.sync(takeovers_);
  ++lane.since_time;
  if (now_ > lane.last_ns && (is_other || lane.since_time >= kEventsPerTime || now_ - lane.last_ns >= kNsPerTime)) {
    lane.encoder.time(now_);
    lane.last_ns = now_;
    lane.since_time = 0;
  }
  return lane;
}

Composer::Lane& Composer::touch(uint32_t thread, uint64_t ns, uint64_t address) {
  Lane& lane = prepare(thread, ns);
  const unsigned number = record::shard_of(address);
  auto& [owner, epoch] = shards_[number];
  if (owner != lane.number + 1) {
    owner = lane.number + 1;
    lane.encoder.takeover(number, ++epoch, ++takeovers_);
  }
  ++lane.events;
  ++events_;
  return lane;
}

void Composer::allocate(uint32_t thread, uint64_t ns, Kind kind, unsigned align_log2, uint64_t size, uint64_t address,
                        uint64_t stack) {
  bool& lives = lives_[address];
  if (lives) {
    ++added_;
    touch(thread, ns, address).encoder.free(address);
  }
  lives = true;
  Encoder& encoder = touch(thread, ns, address).encoder;
  if (stack != UINT64_MAX) encoder.stack(stack);
  if (kind != Kind::kPlain) encoder.kind(kind, static_cast<uint8_t>(align_log2));
  encoder.allocate(size, address);
}

void Composer::free(uint32_t thread, uint64_t ns, Kind kind, uint64_t address) {
  const auto [known, is_new] = lives_.try_emplace(address, false);  // a new one is from before the recording
  if (!is_new && !known->second) {
    ++dropped_;
    return;
  }
  known->second = false;
  Encoder& encoder = touch(thread, ns, address).encoder;
  const bool is_sized = kind == Kind::kSized;
  if (kind != Kind::kPlain && !is_sized) encoder.kind(kind);
  encoder.free(address, is_sized);
}

void Composer::resize(uint32_t thread, uint64_t ns, uint64_t address, uint64_t size) {
  const auto [known, is_new] = lives_.try_emplace(address, true);
  if (!is_new && !known->second) return allocate(thread, ns, Kind::kPlain, 0, size, address);
  touch(thread, ns, address).encoder.resize(address, size);
}

void Composer::mark(uint32_t thread, uint64_t ns, std::string_view text) {
  prepare(thread, ns).encoder.text(record::Op::kMark, text.substr(0, record::kMostText));
}

void Composer::stack_is(uint64_t stack, const std::vector<uint64_t>& frames) {
  const uint32_t thread = 0;
  prepare(thread, now_).encoder.stack_is(stack, frames);
}

void Composer::memory(uint64_t ns, uint64_t resident) { memory_.push_back({ns, 0, resident, 0}); }

bool Composer::text(ChunkType type, std::string_view text) { return write(header_of(type), text.data(), text.size()); }

bool Composer::finish() {
  for (Lane& lane : lanes_) {
    lane.encoder.end();
    write_block(lane);
  }
  if (!memory_.empty()) write(header_of(ChunkType::kMemory), memory_.data(), memory_.size() * sizeof(MemorySample));
  ChunkHeader clock = header_of(ChunkType::kClock);
  clock.process = kNone;
  const ClockPair pairs[] = {{0, 0, realtime_ns_}, {now_ + 1, now_ + 1, realtime_ns_ + now_ + 1}};
  write(clock, pairs, sizeof pairs);
  ChunkHeader end = header_of(ChunkType::kProcessEnd);
  end.lane = static_cast<uint32_t>(Ending::kUnknown);
  end.first_ticks = now_;
  write(end, nullptr, 0);
  if (has_failed()) return false;
  if (writer_.finish()) return true;
  say("trace: cannot write '%s': %s", path_.c_str(), strerror(writer_.error()));
  return false;
}

}  // namespace acre::trace
