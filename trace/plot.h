// acre plot's data: a recording as curves, marks, an image of the heap in tiles, blocks, and tables by call site.
// Lines of JSON, `{"name": …}`, which the page of acre plot holds as they are. Memory is bounded by the budget and by
// what lives at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace acre::trace {

struct PlotOptions {
  std::string path, output;
  std::optional<uint32_t> process;  // by default the one with the most events
  std::optional<double> from, to;   // seconds after the beginning of the recording
  unsigned deepest = 6;             // level of the image
  uint64_t budget = 24 << 20;       // bytes of the data, about
};

// -> the exit code
int plot(const PlotOptions& options);

// Sizes are drawn by groups: each but the last by its largest size.
inline constexpr unsigned kGroups = 16;
inline constexpr uint64_t kGroupEnds[kGroups - 1] = {16,   32,   64,    128,   256,     512,     1024,    2048,
                                                     4096, 8192, 16384, 32768, 1 << 17, 1 << 20, 16 << 20};
inline constexpr unsigned group_of(uint64_t size) {
  unsigned group = 0;
  while (group < kGroups - 1 && size > kGroupEnds[group]) ++group;
  return group;
}

inline constexpr uint32_t kOtherThread = 255;  // in the image and of blocks: none that is named
inline constexpr unsigned kDrawnThreads = 31;  // those that allocate most

// Tags by number: the named ones, those in which most is allocated, are 1 ….
inline constexpr uint8_t kNoTag = 0, kOtherTag = 255;

// Larger blocks cannot be: a damaged file has them.
inline constexpr uint64_t kMostBlock = uint64_t{1} << 47;

}  // namespace acre::trace
