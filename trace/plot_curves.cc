#include "plot_curves.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace acre::trace {

namespace {

constexpr const char* kFigureNames[] = {"figure_live", "active", "dirty", "muzzy", "figure_mapped", "metadata"};

std::vector<float> narrow(const std::vector<double>& values) { return {values.begin(), values.end()}; }

}  // namespace

Curves::Curves(double from, double to, uint32_t buckets, size_t threads, size_t tags)
    : from_(from),
      width_((to - from) / buckets),
      buckets_(buckets),
      most_(buckets),
      least_(buckets),
      allocated_(buckets),
      allocations_(buckets),
      frees_(buckets),
      threads_(std::min<size_t>(threads, kNamedThreads) + 1, Curve(buckets)),
      tags_(tags == 0 ? 0 : tags + 1, Curve(buckets)),
      by_tag_(tags_.size()) {
  for (Curve& curve : groups_) curve.resize(buckets);
}

uint32_t Curves::bucket(double when) const {
  return static_cast<uint32_t>(std::clamp((when - from_) / width_, 0.0, static_cast<double>(buckets_ - 1)));
}

void Curves::come_to(double when) {
  const uint32_t to = bucket(when);
  while (at_ < to) {
    for (unsigned group = 0; group < kGroups; ++group) groups_[group][at_] = static_cast<double>(by_group_[group]);
    ++at_;
    for (size_t i = 0; i < tags_.size(); ++i) tags_[i][at_] = static_cast<double>(by_tag_[i]);
    most_[at_] = least_[at_] = static_cast<double>(live_);
  }
}

void Curves::live_of(uint8_t tag, uint64_t before, uint64_t after) {
  if (tag == kNoTag || tags_.empty()) return;
  const size_t index = std::min<size_t>(tag, tags_.size()) - 1;
  by_tag_[index] += after - before;
  tags_[index][at_] = std::max(tags_[index][at_], static_cast<double>(by_tag_[index]));
}

void Curves::live(uint64_t before, uint64_t after, uint8_t tag) {
  live_of(tag, before, after);
  live_ += after - before;
  if (before != 0) by_group_[group_of(before)] -= before;
  if (after != 0) by_group_[group_of(after)] += after;
  most_[at_] = std::max(most_[at_], static_cast<double>(live_));
  least_[at_] = std::min(least_[at_], static_cast<double>(live_));
}

void Curves::begin(uint64_t size, uint8_t tag) {
  live(0, size, tag);
  most_[0] = least_[0] = static_cast<double>(live_);
}

void Curves::allocate(double when, uint64_t size, uint32_t thread, uint8_t tag) {
  come_to(when);
  live(0, size, tag);
  allocated_[at_] += static_cast<double>(size);
  ++allocations_[at_];
  threads_[std::min<size_t>(thread, threads_.size() - 1)][at_] += static_cast<double>(size);
}

void Curves::free(double when, uint64_t size, uint8_t tag) {
  come_to(when);
  live(size, 0, tag);
  ++frees_[at_];
}

void Curves::free_unknown(double when) {
  come_to(when);
  ++frees_[at_];
}

void Curves::resize(double when, uint64_t before, uint64_t after, uint8_t tag) {
  come_to(when);
  live(before, after, tag);
}

void Curves::move(double when, uint64_t size, uint8_t from, uint8_t to) {
  come_to(when);
  live_of(from, size, 0);
  live_of(to, 0, size);
}

void Curves::set(Curve& curve, double when, double value) {
  if (when < from_ || when > from_ + width_ * buckets_) return;
  if (curve.empty()) curve.assign(buckets_, std::numeric_limits<double>::quiet_NaN());
  double& at = curve[bucket(when)];
  at = std::isnan(at) ? value : std::max(at, value);
}

void Curves::figures(double when, const std::vector<uint64_t>& list) {
  for (size_t i = 0; i < std::min(list.size(), kFigures); ++i) set(figures_[i], when, static_cast<double>(list[i]));
}

void Curves::memory(double when, const MemorySample& sample) {
  set(resident_, when, static_cast<double>(sample.resident));
  set(mapped_, when, static_cast<double>(sample.mapped));
}

void Curves::finish() {
  come_to(from_ + width_ * buckets_);
  for (unsigned group = 0; group < kGroups; ++group) groups_[group][at_] = static_cast<double>(by_group_[group]);
}

// Those of which most lives, on average; others together.
void Curves::write_tags(PlotLines& lines) const {
  if (tags_.empty()) return;
  const auto sum = [](const Curve& curve) { return std::accumulate(curve.begin(), curve.end(), 0.0); };
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i + 1 < tags_.size(); ++i) order.emplace_back(-sum(tags_[i]), i);
  std::sort(order.begin(), order.end());
  Curve rest = tags_.back();
  for (size_t place = 0; place < order.size(); ++place) {
    const auto [less, i] = order[place];
    if (less == 0) continue;
    if (place < kNamedTags)
      lines.line("curve:tag:" + std::to_string(i), array_of(narrow(tags_[i])));
    else
      std::transform(rest.begin(), rest.end(), tags_[i].begin(), rest.begin(), std::plus<>());
  }
  if (sum(rest) != 0) lines.line("curve:tag:rest", array_of(narrow(rest)));
}

void Curves::write(PlotLines& lines) const {
  const auto write = [&](const std::string& name, const Curve& curve) {
    if (!curve.empty()) lines.line("curve:" + name, array_of(curve));
  };
  write("live_bytes", most_);
  write("live_min", least_);
  write("alloc_bytes", allocated_);
  write("alloc_count", allocations_);
  write("free_count", frees_);
  write("resident", resident_);
  write("mapped", mapped_);
  for (size_t i = 0; i < kFigures; ++i) write(kFigureNames[i], figures_[i]);
  for (size_t i = 0; i < threads_.size(); ++i) {
    const bool is_rest = i + 1 == threads_.size();
    if (is_rest && std::all_of(threads_[i].begin(), threads_[i].end(), [](double v) { return v == 0; })) continue;
    lines.line("curve:thread:" + (is_rest ? "rest" : std::to_string(i)), array_of(narrow(threads_[i])));
  }
  write_tags(lines);
  for (unsigned group = 0; group < kGroups; ++group) {
    lines.line("curve:class:" + std::to_string(group), array_of(narrow(groups_[group])));
  }
}

}  // namespace acre::trace
