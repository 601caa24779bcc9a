#include "plot.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "check.h"
#include "plot_curves.h"
#include "plot_fill.h"
#include "plot_kept.h"
#include "plot_output.h"
#include "plot_scan.h"
#include "plot_tiles.h"
#include "progress.h"
#include "proc.h"
#include "recording.h"
#include "say.h"

namespace acre::trace {

namespace {

constexpr uint32_t kBuckets = 4096;
constexpr char kCutOff[] = " has no end: it was cut off, or the recording goes on";
// Parts of the budget; tiles get the rest. What an entry takes, about.
constexpr uint64_t kPartOfSites = 8, kPartOfRanges = 8, kPartOfBlocks = 3;
constexpr size_t kBytesOfABlock = 10, kBytesOfAnEntry = 10;  // about, in the file

std::string member(const char* name, const std::string& json) { return ",\"" + std::string(name) + "\":" + json; }
std::string member(const char* name, uint64_t value) { return member(name, std::to_string(value)); }
std::string member(const char* name, double value) { return member(name, json_number(value)); }

std::string payload_of(Reader& reader, const Chunk& chunk) {
  std::vector<uint8_t> payload;
  if (!reader.read(chunk, payload)) return {};
  return {payload.begin(), payload.end()};
}

// The deepest level that has a use: cells of 16 bytes, and some events in a column. Where all blocks are named one by
// one, the image need not be so deep.
unsigned deepest_level(const Scan& scan, unsigned most, bool names_all) {
  unsigned level = std::min(most, 3u);
  while (level + names_all < most && scan.axis.height() >> (level + 9) >= 16 && scan.events >> (level + 12) != 0)
    ++level;
  return level;
}

// Each process with what the file has of it; `start` is the text of what was recorded, which may be anything.
std::string processes_of(Reader& reader, const Order& order, const Clock& clock) {
  std::map<uint32_t, std::string> starts;
  std::map<uint32_t, uint64_t> events;
  for (const Chunk& chunk : reader.chunks()) {
    if (chunk.header.type == ChunkType::kProcessStart) starts[chunk.header.process] = payload_of(reader, chunk);
    if (chunk.header.type == ChunkType::kEvents) events[chunk.header.process] += chunk.header.events;
  }
  std::string text;
  for (const auto& [number, facts] : order.processes()) {
    const std::string& start = starts[number];
    text += (text.empty() ? "{" : ",{") + std::string("\"number\":") + std::to_string(number) +
            member("parent", facts.parent == kNone ? "null" : std::to_string(facts.parent)) +
            member("events", events[number]) +
            member("from", facts.start_ticks == 0 ? "null" : json_number(clock.seconds(facts.start_ticks))) +
            member("to", facts.end_ticks == 0 ? "null" : json_number(clock.seconds(facts.end_ticks))) +
            member("end", facts.has_end ? json_string(name_of(facts.ending)) : "null") +
            member("status", facts.has_end && facts.status != kNone ? std::to_string(facts.status) : "null") +
            member("start", start.empty() ? "null" : json_string(start)) + '}';
  }
  return '[' + text + ']';
}

std::string texts_of(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ",") + json_string(text);
  return '[' + list + ']';
}

std::string meta_of(Reader& reader, const Order& order, const Clock& clock, const Scan& scan, unsigned levels,
                    uint32_t range_buckets, const std::vector<std::string>& notes) {
  std::string threads, tags, groups;
  for (const PlotThread& thread : scan.threads) {
    threads += (threads.empty() ? "{" : ",{") + std::string("\"tid\":") + std::to_string(thread.tid) +
               member("lane", uint64_t{thread.lane}) + member("name", json_string(thread.name)) +
               member("bytes", thread.bytes) + '}';
  }
  for (const PlotTag& tag : scan.tags) {
    tags += (tags.empty() ? "{" : ",{") + std::string("\"name\":") + json_string(tag.name) +
            member("bytes", tag.bytes) + '}';
  }
  for (const uint64_t end : kGroupEnds) groups += std::to_string(end) + ',';
  return "\"version\":1" + member("process", uint64_t{scan.process}) + member("from", scan.from) +
         member("to", scan.to) + member("buckets", uint64_t{kBuckets}) + member("events", scan.events) +
         member("allocations", scan.allocations) + member("stack_every", uint64_t{reader.header().stack_every}) +
         member("realtime", static_cast<double>(reader.header().realtime_ns) / 1e9) +
         member("classes", '[' + groups + "null]") + member("range_buckets", uint64_t{range_buckets}) +
         member("levels", uint64_t{levels}) + member("notes", texts_of(notes)) +
         member("threads", '[' + threads + ']') +
         member("tags", '[' + tags + ']') + member("processes", processes_of(reader, order, clock));
}

std::string marks_of(const std::vector<PlotMark>& marks) {
  std::string text;
  for (const PlotMark& mark : marks) {
    text += (text.empty() ? "{" : ",{") + std::string("\"t\":") + json_number(mark.when) +
            member("kind", json_string(mark.kind)) + member("text", json_string(mark.text)) +
            member("thread", mark.thread == kNone ? "null" : std::to_string(mark.thread)) + '}';
  }
  return "\"marks\":[" + text + ']';
}

std::string address_of(const Axis& axis) {
  std::string text;
  for (const Axis::Range& range : axis.ranges()) {
    text += (text.empty() ? "[" : ",[") + std::to_string(range.start) + ',' + std::to_string(range.units) + ']';
  }
  return "\"unit\":" + std::to_string(Axis::kUnit) + member("height", axis.height()) +
         member("ranges", '[' + text + ']');
}

void add_memory(Reader& reader, const Clock& clock, uint32_t process, Curves& curves) {
  std::vector<uint8_t> payload;
  for (const Chunk& chunk : reader.chunks()) {
    if (chunk.header.type != ChunkType::kMemory || chunk.header.process != process || !reader.read(chunk, payload)) {
      continue;
    }
    for (size_t at = 0; at + sizeof(MemorySample) <= payload.size(); at += sizeof(MemorySample)) {
      MemorySample sample;
      memcpy(&sample, payload.data() + at, sizeof sample);
      curves.memory(clock.seconds(sample.ticks), sample);
    }
  }
}

}  // namespace

int plot(const PlotOptions& options) {
  Reader reader;
  if (!reader.open(options.path)) {
    say("plot: %s", reader.error().c_str());
    return 1;
  }
  uint64_t problems = 0;
  std::string first_problem;
  Order order(reader, [&](const Problem& problem) {
    if (problem.kind != Problem::kNoOrder && problems++ == 0) first_problem = text_of(problem);
  });
  const Clock clock(reader);
  const uint32_t process = options.process.value_or(largest_process(reader));
  if (!order.processes().contains(process)) {
    if (options.process)
      say("plot: '%s' has no process %u; acre trace --info lists them", options.path.c_str(), process);
    else
      say("plot: '%s' has no events", options.path.c_str());
    return 1;
  }
  std::optional<Progress> progress("plot");
  uint64_t all = 0;
  for (const Chunk& chunk : reader.chunks()) {
    if (chunk.header.type == ChunkType::kEvents && chunk.header.process == process) all += chunk.header.raw_bytes;
  }
  const Scan found = scan(reader, order, clock, options, process, [&](uint64_t bytes) {
    progress->say("looks through the events:", static_cast<double>(bytes) / static_cast<double>(all));
  });
  FILE* const output = fopen(options.output.c_str(), "we");
  if (output == nullptr) {
    say("plot: cannot write '%s': %s", options.output.c_str(), strerror(errno));
    return 1;
  }
  const size_t most_blocks = std::max<size_t>(options.budget / kPartOfBlocks / kBytesOfABlock, 1000);
  const unsigned deepest = deepest_level(found, options.deepest, found.allocations <= most_blocks);
  const unsigned columns_log2 = deepest + 8;
  Curves curves(found.from, found.to, kBuckets, found.threads.size(), found.tags.size());
  KeptBlocks kept(most_blocks);
  Pyramid pyramid(deepest, found.to - found.from, options.budget - options.budget / kPartOfBlocks);
  const uint64_t height = std::max<uint64_t>(found.axis.height() >> columns_log2, 1);
  Sweep sweep(columns_log2, uint32_t{1} << columns_log2, height, static_cast<uint32_t>(found.threads.size()),
              [&](const Cell* cells) { pyramid.column(cells); });
  Sites sites(reader, order);
  Ranges ranges(std::max<uint64_t>(options.budget / kPartOfRanges / kBytesOfAnEntry, 1000));
  Runs runs(found.from);
  Holders holders(found);
  Fill fill(found, columns_log2, {curves, sweep, kept, sites, ranges, runs, holders});
  fill.run(reader, order, clock, [&](double when) {
    progress->say("draws:", (when - found.from) / (found.to - found.from));
  });
  add_memory(reader, clock, process, curves);
  progress.reset();
  if (!reader.has_index()) say("plot: '%s'%s; what is there is drawn", options.path.c_str(), kCutOff);
  say_damage("plot", options.path, reader, problems, first_problem);

  std::vector<std::string> notes;
  const auto note = [&](uint64_t count, const std::string& text) {
    if (count != 0) notes.push_back(std::to_string(count) + ' ' + text);
  };
  if (!reader.has_index()) notes.emplace_back("the file" + std::string(kCutOff));
  note(reader.damaged_bytes(), "bytes of the file are damaged");
  note(problems, "parts of the file are damaged or missing");
  note(fill.lost, "events were lost by the recorder");
  note(fill.earlier, "events are of blocks from before the recording");
  note(fill.again, "blocks were given out while they lived, by the file: their frees are missing");
  note(fill.marks_left_out, "marks were left out");
  note(sites.choose(options.budget / kPartOfSites), "call sites were left out, those that allocate least");
  kept.number_sites([&](uint32_t site) { return sites.new_number(site); });
  PlotLines lines;
  curves.write(lines);
  lines.line("marks", marks_of(fill.marks));
  lines.line("address", address_of(found.axis));
  lines.line("sites", sites.members());
  ranges.write(lines, sites);
  runs.write(lines);
  holders.write(lines, sites);
  lines.line("blocks:0:0:0", kept.members(found.from, found.to, most_blocks * kBytesOfABlock));
  if (!kept.is_complete()) {
    notes.push_back("only the " + std::to_string(kept.count()) +
                    " blocks with the largest size × lifetime are named one by one; --from and --to show less time");
  }
  const uint64_t left = options.budget - std::min<uint64_t>(options.budget, lines.text().size());
  note(pyramid.choose(left), "tiles of the image, which show the least detail, were left out to bound the page's size");
  unsigned levels = 0;
  for (const Tile& tile : pyramid.tiles()) levels = std::max(levels, tile.level + 1);
  PlotLines meta;
  meta.line("meta", meta_of(reader, order, clock, found, levels, ranges.buckets(), notes));

  const auto write = [&](const std::string& text) {
    return fwrite(text.data(), 1, text.size(), output) == text.size();
  };
  bool whole = write(meta.text()) && write(lines.text());
  for (const Tile& tile : pyramid.tiles()) {
    PlotLines line;
    line.line("tile:" + std::to_string(tile.level) + ':' + std::to_string(tile.x) + ':' + std::to_string(tile.y),
              array_of("u8", 4 * Pyramid::kSide * Pyramid::kSide, tile.bytes));
    whole = whole && write(line.text());
  }
  whole = fflush(output) == 0 && whole;
  const int error = errno;
  struct stat status;
  const bool is_file = fstat(fileno(output), &status) == 0 && S_ISREG(status.st_mode);
  fclose(output);
  if (!whole) {
    say("plot: cannot write '%s': %s", options.output.c_str(), strerror(error));
    if (is_file) unlink(options.output.c_str());
    return 1;
  }
  return 0;
}

}  // namespace acre::trace
