#include "plot_kept.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "plot_output.h"

namespace acre::trace {

namespace {

std::tuple<double, double, uint64_t> place(const KeptBlocks::Entry& entry) {
  return {entry.from, static_cast<double>(entry.size), entry.y};
}

constexpr uint32_t kNever = UINT32_MAX;
constexpr double kTimeSteps = kNever - 1;

}  // namespace

void KeptBlocks::keep(size_t most) {
  if (entries_.size() <= most) return;
  const auto last = entries_.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(entries_.begin(), last, entries_.end(), [](const Entry& a, const Entry& b) {
    return a.area != b.area ? a.area > b.area : place(a) < place(b);
  });
  least_ = last->area;
  entries_.erase(last, entries_.end());
}

std::string KeptBlocks::encode(double from, double to) const {
  const double step = (to - from) / kTimeSteps;
  uint64_t most_y = 0, all_y = 0, most_size = 0;
  for (const Entry& entry : entries_) {
    most_y = std::max(most_y, entry.y);
    all_y |= entry.y;
    most_size = std::max(most_size, entry.size);
  }
  const auto time = [&](double when) {
    return static_cast<uint32_t>(std::clamp((when - from) / step + 0.5, 0.0, kTimeSteps));
  };
  std::vector<uint32_t> begins, ends, ys, sizes, threads, sites;
  std::vector<uint8_t> tags;
  // The largest unit of addresses, a power of 2, which all have or which is needed.
  unsigned shift = all_y == 0 ? 0 : static_cast<unsigned>(__builtin_ctzll(all_y));
  while (most_y >> shift > UINT32_MAX) ++shift;
  for (const Entry& entry : entries_) {
    begins.push_back(time(entry.from));
    ends.push_back(std::isnan(entry.to) ? kNever : time(entry.to));
    ys.push_back(static_cast<uint32_t>(entry.y >> shift));
    sizes.push_back(static_cast<uint32_t>(std::min<uint64_t>(entry.size, UINT32_MAX)));
    threads.push_back(entry.thread);
    sites.push_back(entry.site);
    tags.push_back(entry.tag);
  }
  const std::string scale = ",\"scale\":" + json_number(step) + ",\"offset\":" + json_number(from);
  Columns columns;
  columns.add_array("from", delta_array_of(begins, scale))
      .add_array("to", array_of(ends, ",\"none\":" + std::to_string(kNever) + scale))
      .add_array("y", array_of(ys, ",\"scale\":" + std::to_string(uint64_t{1} << shift)));
  if (most_size > UINT32_MAX) {
    std::vector<double> wide;
    for (const Entry& entry : entries_) wide.push_back(static_cast<double>(entry.size));
    columns.add("size", wide);
  } else {
    columns.add("size", sizes);
  }
  columns.add("thread", threads).add("site", sites);
  if (has_tags_) columns.add("tag", tags);
  return "\"complete\":" + std::string(is_complete() ? "true" : "false") + ",\"least\":" + json_number(least_) +
         ",\"count_all\":" + std::to_string(count_) + ',' + columns.members();
}

std::string KeptBlocks::members(double from, double to, uint64_t budget) {
  keep(most_);
  std::string text;
  for (;;) {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return place(a) < place(b); });
    text = encode(from, to);
    if (text.size() <= budget || entries_.size() < 256) return text;
    const double part = static_cast<double>(budget) / static_cast<double>(text.size());
    keep(static_cast<size_t>(static_cast<double>(entries_.size()) * part * 0.95));
  }
}

}  // namespace acre::trace
