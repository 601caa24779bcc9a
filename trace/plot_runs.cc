#include "plot_runs.h"

#include <algorithm>
#include <limits>

namespace acre::trace {

void Runs::is(uint64_t address, uint64_t pages, uint64_t block, double when) {
  gone(address, when);
  map_[address] = {pages, block, when};
}

void Runs::gone(uint64_t address, double when) {
  last_ = when;
  const auto found = map_.find(address);
  if (found == map_.end()) return;
  end(address, found->second, when, when);
  map_.erase(found);
}

void Runs::end(uint64_t address, const Run& run, double to, double until) {
  if (until < from_) return;
  const double from = std::max(run.from, from_);
  ended_.push_back({address, {run.pages, run.block, from}, to, static_cast<double>(run.pages) * (until - from)});
  if (ended_.size() >= 2 * kMost) keep();
}

void Runs::keep() {
  if (ended_.size() <= kMost) return;
  const auto last = ended_.begin() + static_cast<std::ptrdiff_t>(kMost);
  std::nth_element(ended_.begin(), last, ended_.end(), [](const Ended& a, const Ended& b) { return a.area > b.area; });
  ended_.erase(last, ended_.end());
}

void Runs::finish() {
  for (const auto& [address, run] : map_) end(address, run, std::numeric_limits<double>::quiet_NaN(), last_);
  keep();
  std::sort(ended_.begin(), ended_.end(), [](const Ended& a, const Ended& b) {
    return std::pair(a.run.from, a.address) < std::pair(b.run.from, b.address);
  });
}

void Runs::write(PlotLines& lines) const {
  if (ended_.empty()) return;
  std::vector<double> addresses, from, to;
  std::vector<uint32_t> pages, blocks;
  const auto narrow = [](uint64_t value) { return static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX)); };
  for (const Ended& ended : ended_) {
    addresses.push_back(static_cast<double>(ended.address));
    pages.push_back(narrow(ended.run.pages));
    blocks.push_back(narrow(ended.run.block));
    from.push_back(ended.run.from);
    to.push_back(ended.to);
  }
  lines.line("runs", Columns()
                          .add("address", addresses)
                          .add("pages", pages)
                          .add("block", blocks)
                          .add("from", from)
                          .add("to", to)
                          .members());
}

}  // namespace acre::trace
