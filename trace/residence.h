// What a process had resident, of no file and not shared: between the samples in the file a straight line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "file.h"

namespace acre::trace {

class Residence {
 public:
  void read(Reader& reader, uint32_t process) {
    std::vector<uint8_t> payload;
    for (const Chunk& chunk : reader.chunks()) {
      if (chunk.header.type != ChunkType::kMemory || chunk.header.process != process) continue;
      if (!reader.read(chunk, payload)) continue;
      for (size_t at = 0; at + sizeof(MemorySample) <= payload.size(); at += sizeof(MemorySample)) {
        MemorySample sample;
        memcpy(&sample, payload.data() + at, sizeof sample);
        const uint64_t own = sample.resident - std::min(sample.resident, sample.shared);
        points_.push_back({sample.ticks, static_cast<double>(std::min(own, kMost))});
      }
    }
    std::sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) { return a.ticks < b.ticks; });
  }

  double at(uint64_t ticks) const {
    if (points_.empty()) return 0;
    const auto behind = std::upper_bound(points_.begin(), points_.end(), ticks,
                                         [](uint64_t value, const Point& point) { return value < point.ticks; });
    if (behind == points_.begin()) return behind->bytes;
    if (behind == points_.end()) return behind[-1].bytes;
    const Point &before = behind[-1], &after = *behind;
    const double part = static_cast<double>(ticks - before.ticks) / static_cast<double>(after.ticks - before.ticks);
    return before.bytes + part * (after.bytes - before.bytes);
  }

  void sum_up(uint64_t begin, uint64_t end, uint64_t& peak, uint64_t& mean) const {
    double most = std::max(at(begin), at(end)), sum = 0;
    Point last{begin, at(begin)};
    const auto add = [&](const Point& next) {
      sum += static_cast<double>(next.ticks - last.ticks) * (last.bytes + next.bytes) / 2;
      most = std::max(most, next.bytes);
      last = next;
    };
    for (const Point& point : points_) {
      if (point.ticks > begin && point.ticks < end) add(point);
    }
    if (end > begin) add({end, at(end)});
    peak = static_cast<uint64_t>(most);
    mean = end > begin ? static_cast<uint64_t>(sum / static_cast<double>(end - begin)) : peak;
  }

 private:
  static constexpr uint64_t kMost = uint64_t{1} << 60;  // a file may say anything
  struct Point {
    uint64_t ticks;
    double bytes;
  };
  std::vector<Point> points_;
};

}  // namespace acre::trace
