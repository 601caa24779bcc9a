// A recording over time, in parts of equal length: what lives, what is allocated and freed, marks, threads, memory; and
// single blocks, all or a sample. For exports of timelines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace acre::trace {

struct TimelineOptions {
  std::string path;
  std::optional<uint32_t> process;
  std::optional<double> from, to;  // seconds
  uint32_t parts = 2000;
  // Not 0: also allocations and frees of blocks, about one in so many bytes. 1: all.
  uint64_t blocks_every = 0;
};

// As JSON. -> the exit code
int timeline(const TimelineOptions& options);

}  // namespace acre::trace
