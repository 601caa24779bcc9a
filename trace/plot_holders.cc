#include <algorithm>
#include <cmath>
#include <map>

#include "plot_runs.h"

namespace acre::trace {

namespace {

constexpr uint64_t kMostVisits = 20'000'000;  // of blocks: at fewer moments where many live
constexpr uint64_t kMostUnits = 1 << 26;  // 4 TiB
constexpr size_t kMostSites = 1000;       // at a moment
constexpr uint64_t kPage = 4096;

// What can go back to the system as one: runs, or units of the axis.
class Places {
 public:
  Places(const Axis& axis, const Runs::Map& runs) : axis_(axis) {
    for (const auto& [address, run] : runs) {
      if (run.pages == 0 || run.pages > kMostBlock / kPage) continue;
      starts_.push_back(address);
      bytes_.push_back(run.pages * kPage);
    }
    by_runs_ = !starts_.empty();
    used_.resize(by_runs_ ? starts_.size() : axis.height() / Axis::kUnit);
  }

  // used(place, bytes of the block there) for the first and the last place that a block lies in; all between are full.
  template <class Used>
  void visit(uint64_t address, uint64_t size, Used used) const {
    if (by_runs_) {
      const auto above = std::upper_bound(starts_.begin(), starts_.end(), address);
      if (above == starts_.begin()) return;
      const auto place = static_cast<size_t>(above - starts_.begin()) - 1;
      if (address - starts_[place] < bytes_[place]) used(place, size);
      return;
    }
    uint64_t y;
    if (!can_be(address, size) || !axis_.find(address, y)) return;
    const size_t first = y / Axis::kUnit, last = (y + size - 1) / Axis::kUnit;
    if (last >= used_.size()) return;
    if (first == last) return used(first, size);
    used(first, Axis::kUnit - y % Axis::kUnit);
    used(last, (y + size - 1) % Axis::kUnit + 1);
  }

  void add(size_t place, uint64_t bytes) { used_[place] += bytes; }
  bool is_nearly_empty(size_t place) const {
    const uint64_t bytes = by_runs_ ? bytes_[place] : Axis::kUnit;
    return static_cast<double>(used_[place]) < Holders::kNearlyEmpty * static_cast<double>(bytes);
  }

 private:
  const Axis& axis_;
  bool by_runs_;
  std::vector<uint64_t> starts_, bytes_;  // of runs
  std::vector<uint64_t> used_;
};

}  // namespace

Holders::Holders(const Scan& scan)
    : scan_(scan), step_((scan.to - scan.from) / kMoments), next_(scan.from + step_) {}

bool Holders::begin(double when, uint64_t count) {
  const double steps = std::floor((when - scan_.from) / step_);
  const bool is_last = when > scan_.to;
  const double at = is_last ? scan_.to : scan_.from + step_ * std::min(steps, kMoments - 1.0);
  next_ = is_last || steps >= kMoments - 1 ? INFINITY : at + step_;
  const auto due = static_cast<uint64_t>((at - scan_.from) / (scan_.to - scan_.from) * kMostVisits);
  if (!is_last && visits_ + count > due + kMostVisits / kMoments) return false;
  visits_ += count;
  moments_.push_back(at);
  return true;
}

void Holders::moment(const std::vector<Block>& blocks, const Runs::Map& runs) {
  if (scan_.axis.height() / Axis::kUnit > kMostUnits) return;
  Places places(scan_.axis, runs);
  for (const Block& block : blocks) {
    places.visit(block.address, block.size, [&](size_t place, uint64_t bytes) { places.add(place, bytes); });
  }
  std::vector<std::pair<uint32_t, uint64_t>> pairs;  // site, place
  std::map<uint32_t, Held> by_site;
  const auto number = static_cast<uint32_t>(moments_.size() - 1);
  for (const Block& block : blocks) {
    places.visit(block.address, block.size, [&](size_t place, uint64_t bytes) {
      if (!places.is_nearly_empty(place)) return;
      pairs.emplace_back(block.site, place);
      by_site.try_emplace(block.site, Held{number, block.site, 0, 0}).first->second.bytes += static_cast<double>(bytes);
    });
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  for (const auto& [site, place] : pairs) ++by_site[site].units;
  std::vector<Held> found;
  for (const auto& [site, held] : by_site) found.push_back(held);
  std::sort(found.begin(), found.end(), [](const Held& a, const Held& b) {
    return a.units != b.units ? a.units > b.units : a.site < b.site;
  });
  found.resize(std::min(found.size(), kMostSites));
  held_.insert(held_.end(), found.begin(), found.end());
}

void Holders::write(PlotLines& lines, const Sites& sites) const {
  std::vector<uint16_t> moments;
  std::vector<uint32_t> numbers, units;
  std::vector<double> bytes;
  for (const Held& held : held_) {
    moments.push_back(static_cast<uint16_t>(held.moment));
    numbers.push_back(sites.new_number(held.site));
    units.push_back(held.units);
    bytes.push_back(held.bytes);
  }
  std::string times;
  for (const double when : moments_) times += (times.empty() ? "" : ",") + json_number(when);
  lines.line("holders", "\"moments\":[" + times + "],\"unit\":" + std::to_string(scan_.has_runs ? 0 : Axis::kUnit) +
                             ",\"below\":" + json_number(kNearlyEmpty) + ',' +
                             Columns()
                                 .add("moment", moments)
                                 .add("site", numbers)
                                 .add("units", units)
                                 .add("bytes", bytes)
                                 .members());
}

}  // namespace acre::trace
