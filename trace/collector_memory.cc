// What memory recorded processes have, at intervals.
#include <algorithm>

#include "collector.h"
#include "ticks.h"

namespace acre::trace {

namespace {

constexpr uint64_t kMillisecond = 1000000;
constexpr uint64_t kLeast = 10 * kMillisecond, kMost = 100 * kMillisecond;  // between two samples, and two that are written
constexpr uint64_t kPart = 50;                                              // of the time goes into each kind
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

}  // namespace

void Collector::sample_memory() {
  const uint64_t begin = nanoseconds_of(CLOCK_MONOTONIC);
  for (auto& [number, process] : processes_) sample(process, begin);
  const uint64_t end = nanoseconds_of(CLOCK_MONOTONIC);
  next_samples_ns_ = end + std::max(kLeast, (end - begin) * kPart);
  for (auto& [number, process] : processes_) {
    if (end >= process.next_others_ns) sample_others(process, end);
  }
}

// What is the same as before is left out, but for the last one before a change: samples are joined by straight lines.
void Collector::sample(Process& process, uint64_t now) {
  const auto statm = statm_of(process.pid);
  if (!statm || statm->mapped == 0) return;  // it has ended
  const MemorySample found{ticks_now(), statm->mapped, statm->resident, statm->shared};
  const bool is_new = !is_same(found, process.seen);
  if (is_new && !process.is_seen_written) process.samples.push_back(process.seen);
  process.seen = found;
  process.is_seen_written = is_new || now >= process.sampled_ns + kMost;
  if (!process.is_seen_written) return;
  process.samples.push_back(found);
  process.sampled_ns = now;
  if (process.samples.size() >= kSamplesPerChunk) write(output_, ChunkType::kMemory, process.number, process.samples);
}

void Collector::sample_others(Process& process, uint64_t now) {
  const std::string smaps = read_all(proc_file(process.pid, "smaps"));
  if (!smaps.empty()) {
    process.others.push_back({ticks_now(), others_in(smaps)});
    if (process.others.size() >= kSamplesPerChunk) write(output_, ChunkType::kOthers, process.number, process.others);
  }
  const uint64_t after = nanoseconds_of(CLOCK_MONOTONIC);
  process.next_others_ns = after + std::max(kMost, (after - now) * kPart);
}

void Collector::write_samples(Process& process) {
  write(output_, ChunkType::kMemory, process.number, process.samples);
  write(output_, ChunkType::kOthers, process.number, process.others);
}

}  // namespace acre::trace
