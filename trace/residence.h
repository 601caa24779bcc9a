// What an allocator has resident in a process: memory of no file and not shared, without what cannot be an allocator's.
// Between the samples in the file a straight line.
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
    std::vector<Point> others;
    read<OthersSample>(reader, process, ChunkType::kOthers, [&](const OthersSample& sample) {
      others.push_back({sample.ticks, bytes_of(sample.bytes)});
    });
    read<MemorySample>(reader, process, ChunkType::kMemory, [&](const MemorySample& sample) {
      points_.push_back({sample.ticks, bytes_of(sample.resident - std::min(sample.resident, sample.shared))});
    });
    sort(others);
    sort(points_);
    for (Point& point : points_) point.bytes = std::max(0.0, point.bytes - at(others, point.ticks));
  }

  double at(uint64_t ticks) const { return at(points_, ticks); }

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
  static double at(const std::vector<Point>& points, uint64_t ticks) {
    if (points.empty()) return 0;
    const auto behind = std::upper_bound(points.begin(), points.end(), ticks,
                                         [](uint64_t value, const Point& point) { return value < point.ticks; });
    if (behind == points.begin()) return behind->bytes;
    if (behind == points.end()) return behind[-1].bytes;
    const Point &before = behind[-1], &after = *behind;
    const double part = static_cast<double>(ticks - before.ticks) / static_cast<double>(after.ticks - before.ticks);
    return before.bytes + part * (after.bytes - before.bytes);
  }

  template <class Sample, class Take>
  static void read(Reader& reader, uint32_t process, ChunkType type, Take take) {
    std::vector<uint8_t> payload;
    for (const Chunk& chunk : reader.chunks()) {
      if (chunk.header.type != type || chunk.header.process != process) continue;
      if (!reader.read(chunk, payload)) continue;
      for (size_t at = 0; at + sizeof(Sample) <= payload.size(); at += sizeof(Sample)) {
        Sample sample;
        memcpy(&sample, payload.data() + at, sizeof sample);
        take(sample);
      }
    }
  }

  static double bytes_of(uint64_t value) { return static_cast<double>(std::min(value, kMost)); }
  static void sort(std::vector<Point>& points) {
    std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.ticks < b.ticks; });
  }

  std::vector<Point> points_;
};

}  // namespace acre::trace
