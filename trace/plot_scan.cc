#include "plot_scan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "blocks.h"

namespace acre::trace {

namespace {

// What a span takes at least: a recording may have a single event. In seconds, and as a part of the time that it is at.
constexpr double kLeastSpan = 1e-6, kLeastPart = 1e-9;

// The blocks that live when the time begins: those of a parent at the fork, and older ones than --from.
void add_earlier(Reader& reader, const Clock& clock, double from, uint32_t process, Axis& axis) {
  Order order(reader);
  Blocks<uint64_t> blocks(reader, order);
  std::set<uint32_t> ancestors = ancestors_of(order, process);
  Merged merged;
  while (order.next(merged)) {
    if (!ancestors.contains(merged.process)) continue;
    const Event& event = *merged.event;
    blocks.before(merged, [](uint32_t, uint64_t, uint64_t) { return true; });
    if (merged.process == process && clock.seconds(event.ticks) >= from) break;
    uint64_t size;
    if (event.what == What::kFree) blocks.take(merged.process, event.address, size);
    if (event.what == What::kAllocate || event.what == What::kResize) {
      blocks.put(merged.process, event.address, event.size);
    }
  }
  for (const auto& [address, size] : blocks.of(process)) {
    if (can_be(address, size)) axis.add(address, std::max<uint64_t>(size, 1));
  }
}

}  // namespace

std::set<uint32_t> ancestors_of(const Order& order, uint32_t process) {
  std::set<uint32_t> found;
  while (process != kNone && found.insert(process).second) {
    const auto facts = order.processes().find(process);
    process = facts == order.processes().end() ? kNone : facts->second.parent;
  }
  return found;
}

uint32_t largest_process(const Reader& reader) {
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> sums;
  for (const Chunk& chunk : reader.chunks()) {
    if (chunk.header.type != ChunkType::kEvents) continue;
    auto& [events, bytes] = sums[chunk.header.process];
    events += chunk.header.events;
    bytes += chunk.header.raw_bytes;
  }
  const auto most = std::max_element(sums.begin(), sums.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == sums.end() ? kNone : most->first;
}

Scan scan(Reader& reader, const Order& order, const Clock& clock, const PlotOptions& options, uint32_t process,
          const std::function<void(uint64_t)>& progress) {
  Scan result;
  result.process = process;
  const ProcessFacts& facts = order.processes().at(process);
  double first = std::numeric_limits<double>::infinity(), last = -first;
  const double least = options.from.value_or(-first), most = options.to.value_or(first);
  std::map<uint32_t, PlotThread> lanes;
  std::unordered_map<std::string, uint64_t> tags;  // name → bytes allocated
  std::vector<uint8_t> bytes;
  Decoder decoder;
  Event event;
  uint64_t read = 0;
  for (const Chunk& chunk : reader.chunks()) {
    if (chunk.header.type != ChunkType::kEvents || chunk.header.process != process) continue;
    progress(read += chunk.header.raw_bytes);
    if (!reader.read(chunk, bytes)) continue;
    const uint32_t lane = chunk.header.lane;
    const auto [entry, is_new] = lanes.try_emplace(lane, PlotThread{lane, 0, {}, 0});
    PlotThread& thread = entry->second;
    if (is_new) {
      if (const auto tid = facts.threads.find(lane); tid != facts.threads.end()) thread.tid = tid->second;
      if (const auto name = facts.names.find(lane); name != facts.names.end()) thread.name = name->second;
    }
    uint64_t* tag = nullptr;  // in force
    decoder.begin(bytes, chunk.header.first_ticks, chunk.header.seen);
    while (decoder.next(event)) {
      const double seconds = clock.seconds(event.ticks);
      if (event.what == What::kName) thread.name = event.text;
      if (event.what == What::kTag) tag = event.text.empty() ? nullptr : &tags[std::string(event.text)];
      if (event.what == What::kRunIs) result.has_runs = true;
      first = std::min(first, seconds);
      last = std::max(last, seconds);
      if (!is_of_block(event.what) || seconds < least || seconds > most) continue;
      ++result.events;
      if (event.what == What::kFree) continue;
      if (event.what == What::kAllocate) {
        ++result.allocations;
        thread.bytes += event.size;
        if (tag != nullptr) *tag += event.size;
      }
      if (can_be(event.address, event.size)) result.axis.add(event.address, std::max<uint64_t>(event.size, 1));
    }
  }
  if (facts.parent != kNone || least > first) add_earlier(reader, clock, least, process, result.axis);
  result.axis.finish();
  if (first > last) first = last = 0;
  if (facts.start_ticks != 0) first = std::min(first, clock.seconds(facts.start_ticks));
  if (facts.has_ended() && facts.end_ticks != 0) last = std::max(last, clock.seconds(facts.end_ticks));
  result.from = options.from.value_or(first);
  const double least_span = std::max(kLeastSpan, std::abs(result.from) * kLeastPart);
  result.to = std::max(options.to ? std::min(*options.to, last) : last, result.from + least_span);
  for (auto& [lane, thread] : lanes) result.threads.push_back(std::move(thread));
  std::sort(result.threads.begin(), result.threads.end(), [](const PlotThread& a, const PlotThread& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.lane < b.lane;
  });
  for (const auto& [name, all] : tags) result.tags.push_back({name, all});
  std::sort(result.tags.begin(), result.tags.end(), [](const PlotTag& a, const PlotTag& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
  });
  if (result.tags.size() >= kOtherTag) result.tags.resize(kOtherTag - 1);
  for (uint32_t i = 0; i < result.threads.size(); ++i) result.thread_of[result.threads[i].lane] = i;
  return result;
}

}  // namespace acre::trace
