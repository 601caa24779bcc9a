// What a plot has for each bucket of time: bytes that live, what is allocated and freed, by thread and by size, memory
// and acre's figures.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "file.h"
#include "order.h"
#include "plot.h"
#include "plot_output.h"

namespace acre::trace {

class Curves {
 public:
  static constexpr uint32_t kNamedThreads = 8, kNamedTags = 8;

  Curves(double from, double to, uint32_t buckets, size_t threads, size_t tags);

  // Times: none before the last one.
  void begin(uint64_t size, uint8_t tag);  // a block from before `from`
  void allocate(double when, uint64_t size, uint32_t thread, uint8_t tag);
  void free(double when, uint64_t size, uint8_t tag);
  void free_unknown(double when);
  void resize(double when, uint64_t before, uint64_t after, uint8_t tag);
  void move(double when, uint64_t size, uint8_t from, uint8_t to);  // to another tag
  void figures(double when, const std::vector<uint64_t>& list);
  void memory(double when, const MemorySample& sample);
  void finish();
  void write(PlotLines& lines) const;

 private:
  static constexpr size_t kFigures = static_cast<size_t>(record::Figure::kCount);
  using Curve = std::vector<double>;

  uint32_t bucket(double when) const;
  void come_to(double when);
  void live(uint64_t before, uint64_t after, uint8_t tag);  // of one block
  void live_of(uint8_t tag, uint64_t before, uint64_t after);
  void write_tags(PlotLines& lines) const;
  void set(Curve& curve, double when, double value);

  const double from_, width_;
  const uint32_t buckets_;
  uint32_t at_ = 0;
  uint64_t live_ = 0;
  std::array<uint64_t, kGroups> by_group_{};
  Curve most_, least_, allocated_, allocations_, frees_;
  std::array<Curve, kGroups> groups_;
  std::vector<Curve> threads_;  // the last one: all others
  std::vector<Curve> tags_;     // the last one: tags without a number; the most of each bucket
  std::vector<uint64_t> by_tag_;
  Curve resident_, mapped_;     // empty: the recording has none
  std::array<Curve, kFigures> figures_;
};

}  // namespace acre::trace
