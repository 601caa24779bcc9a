// What memory recorded processes have, at intervals.
#include <algorithm>

#include "collector.h"
#include "ticks.h"

namespace acre::trace {

namespace {

constexpr uint64_t kMsInNs = 1000000;
constexpr uint64_t kLeast = 10 * kMsInNs;  // between two samples
constexpr uint64_t kMost = 100 * kMsInNs;  // between two that are kept
constexpr uint64_t kPart = 50;                  // of the time goes into each kind
constexpr size_t kSamplesPerChunk = 64;

template <class Sample>
void write(Output& output, ChunkType type, uint32_t process, std::vector<Sample>& samples) {
  if (samples.empty()) return;
  ChunkHeader chunk;
  chunk.type = type;
  chunk.process = process;
  chunk.first_ticks = samples.front().ticks;
  chunk.last_ticks = samples.back().ticks;
  output.write(chunk, std::span{reinterpret_cast<const uint8_t*>(samples.data()), samples.size() * sizeof(Sample)});
  samples.clear();
}

bool is_same(const MemorySample& a, const MemorySample& b) {
  return a.mapped == b.mapped && a.resident == b.resident && a.shared == b.shared;
}
bool is_same(const OthersSample& a, const OthersSample& b) { return a.bytes == b.bytes; }

}  // namespace

void Collector::sample_memory() {
  const uint64_t begin = nanoseconds_of(CLOCK_MONOTONIC);
  for (auto& [number, process] : processes_) sample(process, begin);
  const uint64_t end = nanoseconds_of(CLOCK_MONOTONIC);
  next_samples_ns_ = end + std::max(kLeast, (end - begin) * kPart);
  for (auto& [number, process] : processes_) {
    if (end >= process.next_others_ns) sample_others(process, nanoseconds_of(CLOCK_MONOTONIC));
  }
}

// What is the same as before is left out, but for the last one before a change: samples are joined by straight lines.
template <class Sample>
void Collector::keep(Samples<Sample>& samples, const Sample& found, uint64_t now) {
  const bool is_new = !is_same(found, samples.seen);
  if (is_new && !samples.is_seen_kept) samples.kept.push_back(samples.seen);
  samples.seen = found;
  samples.is_seen_kept = is_new || now >= samples.kept_ns + kMost;
  if (!samples.is_seen_kept) return;
  samples.kept.push_back(found);
  samples.kept_ns = now;
}

void Collector::sample(Process& process, uint64_t now) {
  const auto statm = statm_of(process.pid);
  if (!statm || statm->mapped == 0) return;  // it has ended
  keep(process.memory, {ticks_now(), statm->mapped, statm->resident, statm->shared}, now);
  auto& kept = process.memory.kept;
  if (kept.size() >= kSamplesPerChunk) write(output_, ChunkType::kMemory, process.number, kept);
}

void Collector::sample_others(Process& process, uint64_t now) {
  const std::string smaps = read_all(proc_file(process.pid, "smaps"));
  if (!smaps.empty()) keep(process.others, {ticks_now(), others_in(smaps)}, now);
  auto& kept = process.others.kept;
  if (kept.size() >= kSamplesPerChunk) write(output_, ChunkType::kOthers, process.number, kept);
  const uint64_t after = nanoseconds_of(CLOCK_MONOTONIC);
  process.next_others_ns = after + std::max(kLeast, (after - now) * kPart);
}

void Collector::write_samples(Process& process) {
  write(output_, ChunkType::kMemory, process.number, process.memory.kept);
  write(output_, ChunkType::kOthers, process.number, process.others.kept);
}

}  // namespace acre::trace
