#include "print.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "order.h"
#include "proc.h"
#include "recording.h"
#include "say.h"
#include "stacks.h"
#include "tags.h"

namespace acre::trace {

using record::Kind;

namespace {

constexpr const char* kKinds[] = {"malloc",  "calloc",   "aligned",  "realloc", "free", "sized-free", "realloc-from",
                                  "resize",  "takeover", "sync",     "stack",   "mark", "name",       "tag",
                                  "lost",    "figures",  "run",      "run-gone", "purged", "cut", "end"};
constexpr const char* kFigureNames[] = {"live", "active", "dirty", "muzzy", "mapped", "metadata"};

const char* word_of(const Event& event) {
  switch (event.what) {
    case What::kAllocate:
      return event.kind == Kind::kZeroed      ? "calloc"
             : event.kind == Kind::kAligned   ? "aligned"
             : event.kind == Kind::kReallocTo ? "realloc"
                                              : "malloc";
    case What::kFree:
      return event.kind == Kind::kSized ? "sized-free" : event.kind == Kind::kReallocFrom ? "realloc-from" : "free";
    case What::kRunGone: return "run-gone";
    default: return name_of(event.what);
  }
}

bool is_for_readers(What what) {
  return what == What::kTakeover || what == What::kSync || what == What::kStackIs || what == What::kCut ||
         what == What::kEnd;
}

bool is_chosen(const PrintOptions& options, const Merged& merged, double seconds) {
  const Event& event = *merged.event;
  if (options.process && merged.process != *options.process) return false;
  if (options.thread && merged.thread != *options.thread) return false;
  if (options.from && seconds < *options.from) return false;
  if (options.to && seconds > *options.to) return false;
  if (!options.kind.empty() ? options.kind != word_of(event) : !options.all && is_for_readers(event.what)) return false;
  if (options.size &&
      !((event.what == What::kAllocate || event.what == What::kResize) && options.size->has(event.size))) {
    return false;
  }
  if (options.address) {
    if (!is_of_block(event.what)) return false;
    const uint64_t last = event.address + (event.size > 0 ? event.size - 1 : 0);
    if (last < options.address->first || event.address > options.address->last) return false;
  }
  return true;
}

// frames: null: they are not asked for.
void print_text(const Merged& merged, double seconds, const Stacks::Frames* frames) {
  const Event& event = *merged.event;
  printf("%14.9f  %" PRIu32 "  %7" PRIu32 "  %-12s", seconds, merged.process, merged.thread, word_of(event));
  const uint64_t* const numbers = event.numbers.data();
  switch (event.what) {
    case What::kAllocate:
    case What::kResize:
      printf("  0x%012" PRIx64 "  %" PRIu64, event.address, event.size);
      if (event.kind == Kind::kAligned) printf("  align %" PRIu64, uint64_t{1} << event.align_log2);
      break;
    case What::kFree: printf("  0x%012" PRIx64, event.address); break;
    case What::kTakeover:
      printf("  shard %" PRIu64 "  epoch %" PRIu64 "  number %" PRIu64, numbers[0], numbers[1], numbers[2]);
      break;
    case What::kSync:
    case What::kLost:
    case What::kPurged: printf("  %" PRIu64, numbers[0]); break;
    case What::kStackIs:
      printf("  %" PRIu64, numbers[0]);
      for (const uint64_t frame : event.list) printf("  0x%" PRIx64, frame);
      break;
    case What::kMark:
    case What::kName:
    case What::kTag: printf("  %s", json_string(event.text).c_str()); break;
    case What::kFigures:
      for (size_t i = 0; i < event.list.size() && i < std::size(kFigureNames); ++i) {
        printf("  %s %" PRIu64, kFigureNames[i], event.list[i]);
      }
      break;
    case What::kRunIs:
      printf("  0x%012" PRIx64 "  pages %" PRIu64 "  blocks of %" PRIu64, event.address, numbers[0], numbers[1]);
      break;
    case What::kRunGone: printf("  0x%012" PRIx64, event.address); break;
    case What::kCut:
      printf("  lane %" PRIu64 "  block %" PRIu64 "  byte %" PRIu64, numbers[0], numbers[1], numbers[2]);
      break;
    case What::kEnd: break;
  }
  if (event.stack != kNoStack) printf("  stack %" PRIu64, event.stack);
  putchar('\n');
  if (frames == nullptr) return;
  for (const uint64_t frame : *frames) printf("%16s0x%" PRIx64 "\n", "", frame);
}

void print_frames(const Stacks::Frames& frames) {
  printf(",\"frames\":[");
  for (size_t i = 0; i < frames.size(); ++i) printf("%s\"0x%" PRIx64 "\"", i == 0 ? "" : ",", frames[i]);
  putchar(']');
}

void print_json(const Merged& merged, double seconds, const Stacks::Frames* frames) {
  const Event& event = *merged.event;
  const uint64_t* const numbers = event.numbers.data();
  printf("{\"time\":%.9f,\"process\":%" PRIu32 ",\"lane\":%" PRIu32 ",\"thread\":%" PRIu32 ",\"kind\":\"%s\"", seconds,
         merged.process, merged.lane, merged.thread, word_of(event));
  const auto hex = [](const char* name, uint64_t value) { printf(",\"%s\":\"0x%" PRIx64 "\"", name, value); };
  const auto plain = [](const char* name, uint64_t value) { printf(",\"%s\":%" PRIu64, name, value); };
  if (is_of_block(event.what) || event.what == What::kRunIs || event.what == What::kRunGone)
    hex("address", event.address);
  switch (event.what) {
    case What::kAllocate:
    case What::kResize:
      plain("size", event.size);
      if (event.kind == Kind::kAligned) plain("alignment", uint64_t{1} << event.align_log2);
      break;
    case What::kTakeover:
      plain("shard", numbers[0]);
      plain("epoch", numbers[1]);
      plain("number", numbers[2]);
      break;
    case What::kSync: plain("number", numbers[0]); break;
    case What::kLost: plain("events", numbers[0]); break;
    case What::kPurged: plain("pages", numbers[0]); break;
    case What::kStackIs:
      plain("stack", numbers[0]);
      print_frames(event.list);
      break;
    case What::kMark:
    case What::kName:
    case What::kTag: printf(",\"text\":%s", json_string(event.text).c_str()); break;
    case What::kFigures:
      for (size_t i = 0; i < event.list.size() && i < std::size(kFigureNames); ++i)
        plain(kFigureNames[i], event.list[i]);
      break;
    case What::kRunIs:
      plain("pages", numbers[0]);
      plain("block_bytes", numbers[1]);
      break;
    case What::kCut:
      plain("of_lane", numbers[0]);
      plain("block", numbers[1]);
      plain("byte", numbers[2]);
      break;
    default: break;
  }
  if (event.stack != kNoStack) plain("stack", event.stack);
  if (frames != nullptr) print_frames(*frames);
  puts("}");
}

}  // namespace

bool is_kind(const std::string& word) {
  for (const char* kind : kKinds) {
    if (word == kind) return true;
  }
  return false;
}

int print(const PrintOptions& options) {
  Recording recording;
  if (!recording.open(options.path)) return 1;
  Stacks stacks(recording.reader(), recording.order());
  TagsInForce<std::string> tags;
  Merged merged;
  while (recording.next(merged)) {
    const bool has_tag = !options.tag || tags.on(merged, [](auto name) { return std::string(name); }) == *options.tag;
    if (options.stacks) stacks.on(merged);
    const double seconds = recording.seconds(merged);
    if (!has_tag || !is_chosen(options, merged, seconds)) continue;
    const bool has_frames = options.stacks && merged.event->stack != kNoStack;
    const Stacks::Frames* const frames = has_frames ? &stacks.frames(merged.process, merged.event->stack) : nullptr;
    if (options.json)
      print_json(merged, seconds, frames);
    else
      print_text(merged, seconds, frames);
  }
  return recording.finish();
}

int info(const std::string& path, bool json) {
  Reader reader;
  if (!reader.open(path)) {
    say("trace: %s", reader.error().c_str());
    return 1;
  }
  struct Sum {
    uint64_t events = 0, chunks = 0, first = UINT64_MAX, last = 0;
    std::string about;
    Ending ending = Ending::kUnknown;
    uint32_t status = kNone;
    bool has_end = false;
  };
  std::map<uint32_t, Sum> sums;
  std::vector<uint8_t> payload;
  for (const Chunk& chunk : reader.chunks()) {
    const ChunkHeader& header = chunk.header;
    if (header.process == kNone) continue;
    Sum& sum = sums[header.process];
    if (header.type == ChunkType::kEvents) {
      sum.events += header.events;
      ++sum.chunks;
      sum.first = std::min(sum.first, header.first_ticks);
      sum.last = std::max(sum.last, header.last_ticks);
    } else if (header.type == ChunkType::kProcessStart && reader.read(chunk, payload)) {
      sum.about.assign(payload.begin(), payload.end());
    } else if (header.type == ChunkType::kProcessEnd) {
      sum.has_end = true;
      sum.ending = static_cast<Ending>(std::min(header.lane, static_cast<uint32_t>(Ending::kStopped)));
      sum.status = header.block;
    }
  }
  const Clock clock(reader);
  if (json) {
    printf("{\"version\":%" PRIu32 ",\"realtime_ns\":%" PRIu64 ",\"stack_every\":%" PRIu32 ",\"file_bytes\":%" PRIu64
           ",\"has_index\":%s,\"is_bounded\":%s,\"damaged_bytes\":%" PRIu64 ",\"processes\":[",
           reader.header().version, reader.header().realtime_ns, reader.header().stack_every, reader.file_bytes(),
           reader.has_index() ? "true" : "false", reader.is_bounded() ? "true" : "false", reader.damaged_bytes());
  } else {
    printf("%s: %" PRIu64 " bytes%s%s\n", path.c_str(), reader.file_bytes(),
           reader.has_index() ? "" : ", cut off (no index)",
           reader.is_bounded() ? ", the end of a longer recording" : "");
    const uint32_t every = reader.header().stack_every;
    if (every == 1) puts("stacks of all allocations");
    if (every > 1) printf("stacks of allocations: one in %" PRIu32 " bytes on average\n", every);
  }
  bool is_first = true;
  for (const auto& [number, sum] : sums) {
    const bool has_events = sum.chunks != 0;
    const double first = has_events ? clock.seconds(sum.first) : 0, last = has_events ? clock.seconds(sum.last) : 0;
    const char* const ending = sum.has_end ? name_of(sum.ending) : "not recorded";
    if (json) {
      printf("%s{\"process\":%" PRIu32 ",\"events\":%" PRIu64
             ",\"first\":%.9f,\"last\":%.9f,\"end\":\"%s\",\"status\":%s,"
             "\"start\":%s}",
             is_first ? "" : ",", number, sum.events, first, last, ending,
             sum.status == kNone ? "null" : std::to_string(sum.status).c_str(),
             sum.about.empty() ? "null" : sum.about.c_str());
    } else {
      printf("process %" PRIu32 ": %" PRIu64 " events from %.3f to %.3f s, end: %s", number, sum.events, first, last,
             ending);
      if (sum.has_end && sum.status != kNone && sum.ending <= Ending::kSignal) printf(" %" PRIu32, sum.status);
      printf("\n  %s\n", sum.about.c_str());
    }
    is_first = false;
  }
  if (json) puts("]}");
  return fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace acre::trace
