#include "timeline.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "blocks.h"
#include "proc.h"
#include "recording.h"
#include "sites.h"

namespace acre::trace {

namespace {

struct Part {
  uint32_t number;
  uint64_t live_bytes = 0, live_blocks = 0;  // at its end
  uint64_t allocated_bytes = 0, allocations = 0, frees = 0;
};

struct Mark {
  double seconds;
  uint32_t lane;
  std::string text;
};

struct BlockEvent {
  double seconds;
  uint32_t lane, stack;
  double bytes;  // that it stands for; of a free below 0
  uint64_t address;
};

struct Process {
  std::vector<Part> parts;  // those in which anything happens
  uint64_t live_bytes = 0, live_blocks = 0;
  std::vector<Mark> marks;
  std::map<uint32_t, std::string> names;  // of lanes, that were given later
  std::map<Stacks::Frames, uint32_t> stacks;
  std::vector<BlockEvent> blocks;
};

class Maker {
 public:
  Maker(Recording& recording, const TimelineOptions& options)
      : recording_(recording),
        options_(options),
        every_(recording.reader().header().stack_every),
        stacks_(recording.reader(), recording.order()),
        blocks_(recording.reader(), recording.order()) {
    uint64_t first = UINT64_MAX, last = 0;
    for (const Chunk& chunk : recording.reader().chunks()) {
      if (chunk.header.type != ChunkType::kEvents) continue;
      first = std::min(first, chunk.header.first_ticks);
      last = std::max(last, chunk.header.last_ticks);
    }
    if (first <= last) {
      first_ = recording.clock().seconds(first);
      last_ = recording.clock().seconds(last);
    }
    if (options.from) first_ = std::max(first_, *options.from);
    if (options.to) last_ = std::min(last_, *options.to);
    last_ = std::max(last_, first_);
  }

  void run() {
    Merged merged;
    while (recording_.next(merged)) {
      seconds_ = recording_.seconds(merged);
      if (options_.to && seconds_ > *options_.to) break;
      of_event(merged);
    }
  }

  void print() {
    printf("{\"first\":%.9f,\"last\":%.9f,\"parts\":%" PRIu32 ",\"processes\":[", first_, last_, options_.parts);
    const char* between = "";
    for (const auto& [number, facts] : recording_.order().processes()) {
      if (options_.process && number != *options_.process) continue;
      printf("%s{\"process\":%" PRIu32 ",\"started\":%.9f,\"ended\":", between, number,
             recording_.clock().seconds(facts.start_ticks));
      if (facts.has_end)
        printf("%.9f", recording_.clock().seconds(facts.end_ticks));
      else
        printf("null");
      print_threads(number, facts);
      print_memory(number);
      print_process(processes_[number]);
      printf("}");
      between = ",\n";
    }
    puts("]}");
  }

 private:
  struct Block {
    uint64_t size;
    uint32_t stack;  // of a block that is said; kNone: it is not
    double bytes;
  };

  Part& part(Process& process) {
    const double length = (last_ - first_) / options_.parts;
    const double at = length > 0 ? (seconds_ - first_) / length : 0;
    const auto number = static_cast<uint32_t>(std::clamp(at, 0.0, static_cast<double>(options_.parts - 1)));
    if (process.parts.empty() || process.parts.back().number < number) {
      process.parts.push_back({number, process.live_bytes, process.live_blocks});
    }
    return process.parts.back();
  }

  // Nothing: it is not one of the sample.
  std::optional<double> chosen(const Event& event) {
    if (options_.blocks_every == 0 || !is_in_range()) return {};
    const auto amount = amount_of(event.size, event.stack, every_);
    if (!amount) return {};
    if (options_.blocks_every == 1) return amount->bytes;
    const double chance = -std::expm1(-std::max(amount->bytes, 1.0) / static_cast<double>(options_.blocks_every));
    if (std::uniform_real_distribution<double>()(random_) >= chance) return {};
    return amount->bytes / chance;
  }

  bool is_in_range() const { return !options_.from || seconds_ >= *options_.from; }

  void begins(Process& process, const Merged& merged) {
    const Event& event = *merged.event;
    Block block{event.size, kNone, 0};
    if (const auto bytes = chosen(event)) {
      const Stacks::Frames& frames = stacks_.frames(merged.process, event.stack);
      block.stack = process.stacks.try_emplace(frames, static_cast<uint32_t>(process.stacks.size())).first->second;
      block.bytes = *bytes;
      process.blocks.push_back({seconds_, merged.lane, block.stack, block.bytes, event.address});
    }
    process.live_bytes += event.size;
    ++process.live_blocks;
    blocks_.put(merged.process, event.address, block);
  }

  void ends(Process& process, const Merged& merged) {
    Block block;
    if (!blocks_.take(merged.process, merged.event->address, block)) return;
    process.live_bytes -= block.size;
    --process.live_blocks;
    if (block.stack != kNone) {
      process.blocks.push_back({seconds_, merged.lane, block.stack, -block.bytes, merged.event->address});
    }
  }

  void of_event(const Merged& merged) {
    const Event& event = *merged.event;
    blocks_.before(merged, [this](uint32_t child, uint64_t, Block& block) {
      block.stack = kNone;
      processes_[child].live_bytes += block.size;
      ++processes_[child].live_blocks;
      return true;
    });
    stacks_.on(merged);
    Process& process = processes_[merged.process];
    if (event.what == What::kMark && is_in_range()) {
      process.marks.push_back({seconds_, merged.lane, std::string(event.text)});
    }
    if (event.what == What::kName) process.names[merged.lane] = event.text;
    if (!is_of_block(event.what)) return;
    if (event.what != What::kAllocate) ends(process, merged);
    if (event.what != What::kFree) begins(process, merged);
    if (!is_in_range()) return;
    Part& part = this->part(process);
    part.live_bytes = process.live_bytes;
    part.live_blocks = process.live_blocks;
    part.frees += event.what == What::kFree ? 1 : 0;
    if (event.what == What::kFree) return;
    ++part.allocations;
    part.allocated_bytes += event.size;
  }

  void print_threads(uint32_t number, const ProcessFacts& facts) {
    printf(",\"threads\":[");
    const char* between = "";
    for (const auto& [lane, thread] : facts.threads) {
      const auto given = processes_[number].names.find(lane);
      const auto known = facts.names.find(lane);
      const std::string name = given != processes_[number].names.end() ? given->second
                               : known != facts.names.end()            ? known->second
                                                                       : "";
      printf("%s[%" PRIu32 ",%" PRIu32 ",%s]", between, lane, thread, json_string(name).c_str());
      between = ",";
    }
    printf("]");
  }

  void print_memory(uint32_t number) {
    printf(",\"memory\":[");
    const char* between = "";
    std::vector<uint8_t> payload;
    for (const Chunk& chunk : recording_.reader().chunks()) {
      if (chunk.header.type != ChunkType::kMemory || chunk.header.process != number) continue;
      if (!recording_.reader().read(chunk, payload)) continue;
      for (size_t at = 0; at + sizeof(MemorySample) <= payload.size(); at += sizeof(MemorySample)) {
        MemorySample sample;
        memcpy(&sample, payload.data() + at, sizeof sample);
        const double seconds = recording_.clock().seconds(sample.ticks);
        if ((options_.from && seconds < *options_.from) || (options_.to && seconds > *options_.to)) continue;
        printf("%s[%.9f,%" PRIu64 ",%" PRIu64 "]", between, seconds, sample.resident, sample.mapped);
        between = ",";
      }
    }
    printf("]");
  }

  static void print_process(const Process& process) {
    printf(",\n\"curve\":[");
    for (size_t i = 0; i < process.parts.size(); ++i) {
      const Part& part = process.parts[i];
      printf("%s[%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i == 0 ? "" : ",",
             part.number, part.live_bytes, part.live_blocks, part.allocated_bytes, part.allocations, part.frees);
    }
    printf("],\n\"marks\":[");
    for (size_t i = 0; i < process.marks.size(); ++i) {
      const Mark& mark = process.marks[i];
      printf("%s[%.9f,%" PRIu32 ",%s]", i == 0 ? "" : ",", mark.seconds, mark.lane, json_string(mark.text).c_str());
    }
    printf("],\n\"stacks\":[");
    std::vector<const Stacks::Frames*> stacks(process.stacks.size());
    for (const auto& [frames, number] : process.stacks) stacks[number] = &frames;
    for (size_t i = 0; i < stacks.size(); ++i) {
      printf("%s[", i == 0 ? "" : ",");
      for (size_t k = 0; k < stacks[i]->size(); ++k) printf("%s%" PRIu64, k == 0 ? "" : ",", (*stacks[i])[k]);
      printf("]");
    }
    printf("],\n\"blocks\":[");
    for (size_t i = 0; i < process.blocks.size(); ++i) {
      const BlockEvent& block = process.blocks[i];
      printf("%s[%.9f,%" PRIu32 ",%" PRIu32 ",%.0f,%" PRIu64 "]", i == 0 ? "" : ",", block.seconds, block.lane,
             block.stack, block.bytes, block.address);
    }
    printf("]");
  }

  Recording& recording_;
  const TimelineOptions& options_;
  const uint32_t every_;
  Stacks stacks_;
  Blocks<Block> blocks_;
  std::map<uint32_t, Process> processes_;
  std::mt19937_64 random_{1};
  double first_ = 0, last_ = 0, seconds_ = 0;
};

}  // namespace

int timeline(const TimelineOptions& options) {
  Recording recording;
  if (!recording.open(options.path)) return 1;
  Maker maker(recording, options);
  maker.run();
  maker.print();
  return recording.finish();
}

}  // namespace acre::trace
