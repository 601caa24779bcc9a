#include "export.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <unordered_map>
#include <vector>

#include "blocks.h"
#include "import.h"
#include "recording.h"
#include "say.h"
#include "stacks.h"

namespace acre::trace {

using record::Kind;

namespace {

struct Call {
  double seconds;
  uint32_t thread;
  const Event* event;
  const Stacks::Frames* frames;  // of an allocation
};

class Format {
 public:
  virtual ~Format() = default;
  // moved_from: of a realloc that moved, the old block
  virtual void allocate(const Call& call, uint64_t address, uint64_t size, const uint64_t* moved_from) = 0;
  virtual void free(const Call& call, uint64_t address) = 0;
  virtual void mark(const Call&, std::string_view) {}
  virtual void end(double) {}
  virtual void stack_replaced() {}  // frames may be others at the same place
};

class Text : public Format {
 public:
  void allocate(const Call& call, uint64_t address, uint64_t size, const uint64_t* moved_from) override {
    begin(call);
    const Event& event = *call.event;
    if (moved_from != nullptr)
      printf("realloc 0x%" PRIx64 " %" PRIu64, *moved_from, size);
    else if (event.kind == Kind::kZeroed)
      printf("calloc 1 %" PRIu64, size);
    else if (event.kind == Kind::kAligned)
      printf("memalign %" PRIu64 " %" PRIu64, uint64_t{1} << (event.align_log2 & 63), size);
    else
      printf("malloc %" PRIu64, size);
    printf(" = 0x%" PRIx64 "\n", address);
  }
  void free(const Call& call, uint64_t address) override {
    begin(call);
    printf("free 0x%" PRIx64 "\n", address);
  }
  void mark(const Call& call, std::string_view text) override {
    begin(call);
    std::string line(text);
    for (char& letter : line) {
      if (static_cast<unsigned char>(letter) < ' ') letter = ' ';
    }
    printf("mark %s\n", line.c_str());
  }

 private:
  static void begin(const Call& call) { printf("%.9f T%" PRIu32 " ", std::max(call.seconds, 0.0), call.thread); }
};

// What is written once, and has a number from then on.
template <class Key, class Hash = std::hash<Key>>
class Numbers {
 public:
  // is_new: it has just got its number
  uint64_t of(const Key& key, bool& is_new) {
    const auto [entry, made] = known_.try_emplace(key, known_.size() + 1);
    is_new = made;
    return entry->second;
  }

 private:
  std::unordered_map<Key, uint64_t, Hash> known_;
};

class Heaptrack : public Format {
 public:
  Heaptrack(Recording& recording, const ExportOptions& options, const std::unordered_map<uint64_t, std::string>& names)
      : names_(names) {
    printf("v 10400 3\n");
    std::vector<uint8_t> payload;
    for (const Chunk& chunk : recording.reader().chunks()) {
      if (chunk.header.type != ChunkType::kMemory || chunk.header.process != options.process ||
          !recording.reader().read(chunk, payload)) {
        continue;
      }
      for (size_t at = 0; at + sizeof(MemorySample) <= payload.size(); at += sizeof(MemorySample)) {
        MemorySample sample;
        memcpy(&sample, payload.data() + at, sizeof sample);
        memory_.emplace_back(recording.clock().seconds(sample.ticks), sample.resident / kPage);
      }
    }
    printf("X %s\nI %" PRIx64 " 0\n", names_.contains(0) ? names_.at(0).c_str() : "", kPage);
  }

  void allocate(const Call& call, uint64_t address, uint64_t size, const uint64_t* moved_from) override {
    time(call.seconds);
    bool is_new;
    const uint64_t stack = stack_of(*call.frames);
    const uint64_t kind = kinds_.of({size, stack}, is_new) - 1;
    if (is_new) printf("a %" PRIx64 " %" PRIx64 "\n", size, stack);
    if (moved_from != nullptr) take(*moved_from);
    printf("+ %" PRIx64 "\n", kind);
    living_[address] = kind;
  }
  void free(const Call& call, uint64_t address) override {
    time(call.seconds);
    take(address);
  }
  void end(double seconds) override { time(seconds); }
  void stack_replaced() override { known_stacks_.clear(); }

 private:
  static constexpr uint64_t kPage = 4096;
  using Pair = std::pair<uint64_t, uint64_t>;
  struct HashOfPair {
    size_t operator()(const Pair& pair) const { return pair.first * 0x9e3779b97f4a7c15 ^ pair.second; }
  };

  void take(uint64_t address) {
    const auto found = living_.find(address);
    if (found == living_.end()) return;
    printf("- %" PRIx64 "\n", found->second);
    living_.erase(found);
  }

  void time(double seconds) {
    for (; next_sample_ < memory_.size() && memory_[next_sample_].first <= seconds; ++next_sample_) {
      step(memory_[next_sample_].first);
      printf("R %" PRIx64 "\n", memory_[next_sample_].second);
    }
    step(seconds);
  }

  void step(double seconds) {
    const auto ms = static_cast<uint64_t>(std::clamp(seconds * 1000, 0.0, 1e12));
    if (ms <= ms_) return;
    ms_ = ms;
    printf("c %" PRIx64 "\n", ms);
  }

  uint64_t string_of(const std::string& text) {
    if (text.empty()) return 0;
    bool is_new;
    const uint64_t number = strings_.of(text, is_new);
    if (is_new) printf("s %zx %s\n", text.size(), text.c_str());
    return number;
  }

  uint64_t stack_of(const Stacks::Frames& frames) {
    uint64_t& known = known_stacks_[&frames];
    if (known != 0) return known;
    uint64_t stack = 0;
    for (size_t left = std::max<size_t>(frames.size(), 1); left > 0; --left) {
      const uint64_t ip = address_of(frames.empty() ? 0 : frames[left - 1]);
      bool is_new;
      const uint64_t number = stacks_.of({ip, stack}, is_new);
      if (is_new) printf("t %" PRIx64 " %" PRIx64 "\n", ip, stack);
      stack = number;
    }
    return known = stack;
  }

  uint64_t address_of(uint64_t frame) {
    bool is_new;
    const uint64_t number = addresses_.of(frame, is_new);
    if (!is_new) return number;
    std::vector<uint64_t> fields;
    const auto known = names_.find(frame);
    if (known != names_.end()) {
      for (size_t at = 0, part = 0; at <= known->second.size(); ++part) {
        const size_t end = std::min(known->second.find('\t', at), known->second.size());
        const std::string text = known->second.substr(at, end - at);
        uint64_t line = 0;
        if (part != 0 && part % 3 == 0)
          parse(text, 10, line);
        else
          line = string_of(text);
        fields.push_back(line);
        at = end + 1;
      }
    } else if (frame == 0) {
      fields = {0, string_of("[no stack]"), 0, 0};
    }
    // An address, its file, and for each function its name, file and line.
    printf("i %" PRIx64, frame == 0 ? 0 : frame - 1);
    if (fields.size() > 3 && fields[2] == 0) fields.resize(2);  // without a file there is no line
    for (const uint64_t field : fields) printf(" %" PRIx64, field);
    printf("\n");
    return number;
  }

  const std::unordered_map<uint64_t, std::string>& names_;
  std::vector<std::pair<double, uint64_t>> memory_;
  size_t next_sample_ = 0;
  uint64_t ms_ = 0;
  Numbers<std::string> strings_;
  Numbers<uint64_t> addresses_;
  Numbers<Pair, HashOfPair> stacks_, kinds_;
  std::unordered_map<const Stacks::Frames*, uint64_t> known_stacks_;
  std::unordered_map<uint64_t, uint64_t> living_;
};

bool read_names(const std::string& path, std::unordered_map<uint64_t, std::string>& names) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t tab = line.find('\t');
    uint64_t address;
    if (tab == std::string::npos || !parse(std::string_view(line).substr(0, tab), 16, address)) continue;
    names[address] = line.substr(tab + 1);
  }
  if (!file.eof()) say("trace: cannot read '%s'", path.c_str());
  return file.eof();
}

class Walk {
 public:
  Walk(Recording& recording, const ExportOptions& options, Format& format)
      : recording_(recording),
        options_(options),
        format_(format),
        stacks_(recording.reader(), recording.order()),
        blocks_(recording.reader(), recording.order()) {}

  void run() {
    Merged merged;
    double seconds = 0;
    while (recording_.next(merged)) {
      seconds = recording_.seconds(merged);
      if (options_.to && seconds > *options_.to) break;
      of_event(merged, seconds);
    }
    begin_range(seconds, 0);
    for (const auto& [lane, move] : moves_) allocate(move.call(), move.event.address, move.event.size, nullptr);
    format_.end(seconds);
  }

 private:
  struct Block {
    uint64_t size, stack;
    uint32_t process;  // whose number the stack's is
  };
  struct Move {  // a realloc to another place, of which the free of the old block is still to come
    Event event;
    double seconds;
    uint32_t thread;
    const Stacks::Frames* frames;
    Call call() const { return {seconds, thread, &event, frames}; }
  };

  void allocate(const Call& call, uint64_t address, uint64_t size, const uint64_t* moved_from) {
    if (has_begun_) format_.allocate(call, address, size, moved_from);
  }

  // Blocks from before the range, or that a forked child began with, come first.
  void begin_range(double seconds, uint32_t thread) {
    if (has_begun_) return;
    has_begun_ = true;
    Event plain;
    plain.what = What::kAllocate;
    const auto& there = blocks_.of(options_.process);
    std::map<uint64_t, Block> sorted(there.begin(), there.end());
    for (const auto& [address, block] : sorted) {
      const Call call{seconds, thread, &plain, &stacks_.frames(block.process, block.stack)};
      format_.allocate(call, address, block.size, nullptr);
    }
  }

  void of_event(const Merged& merged, double seconds) {
    const Event& event = *merged.event;
    blocks_.before(merged, [](uint32_t, uint64_t, Block&) { return true; });
    if (event.what == What::kStackIs && !stacks_.frames(merged.process, event.numbers[0]).empty()) {
      format_.stack_replaced();
    }
    stacks_.on(merged);
    const bool is_ours = merged.process == options_.process;
    if (is_ours && seconds >= options_.from.value_or(seconds)) begin_range(seconds, merged.thread);
    const Call call{seconds, merged.thread, &event, &stacks_.frames(merged.process, event.stack)};
    if (event.what == What::kMark && is_ours && has_begun_) format_.mark(call, event.text);
    if (!is_of_block(event.what)) return;
    if (is_ours && event.kind != Kind::kReallocFrom) finish_move(merged.lane);
    Block old;
    const bool was_known = event.what == What::kAllocate || blocks_.take(merged.process, event.address, old);
    if (event.what != What::kFree)
      blocks_.put(merged.process, event.address, {event.size, event.stack, merged.process});
    if (!is_ours || !has_begun_) return;
    if (event.what == What::kResize) {
      allocate(call, event.address, event.size, &event.address);
    } else if (event.what == What::kAllocate) {
      if (event.kind == Kind::kReallocTo)
        moves_[merged.lane] = {event, seconds, merged.thread, call.frames};
      else
        allocate(call, event.address, event.size, nullptr);
    } else if (const auto move = moves_.find(merged.lane); move != moves_.end()) {
      const uint64_t from = event.address;
      allocate(move->second.call(), move->second.event.address, move->second.event.size, &from);
      moves_.erase(move);
    } else if (was_known) {
      format_.free(call, event.address);
    }
  }

  // Another event of the lane came: the old block's free is missing.
  void finish_move(uint32_t lane) {
    const auto move = moves_.find(lane);
    if (move == moves_.end()) return;
    allocate(move->second.call(), move->second.event.address, move->second.event.size, nullptr);
    moves_.erase(move);
  }

  Recording& recording_;
  const ExportOptions& options_;
  Format& format_;
  Stacks stacks_;
  Blocks<Block> blocks_;
  std::unordered_map<uint32_t, Move> moves_;  // by lane
  bool has_begun_ = false;
};

}  // namespace

int export_events(const ExportOptions& options) {
  Recording recording;
  std::unordered_map<uint64_t, std::string> names;
  if (!options.names.empty() && !read_names(options.names, names)) return 1;
  if (!recording.open(options.path)) return 1;
  if (options.format == "text") {
    Text format;
    Walk(recording, options, format).run();
  } else {
    Heaptrack format(recording, options, names);
    Walk(recording, options, format).run();
  }
  return recording.finish();
}

}  // namespace acre::trace
