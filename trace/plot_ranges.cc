#include "plot_ranges.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

namespace acre::trace {

namespace {

constexpr uint32_t kNeverKey = 0xffff;

}  // namespace

void Ranges::add(const Block& block) {
  const auto log2 = static_cast<uint32_t>(std::bit_width(std::max<uint64_t>(block.size, 1)) - 1);
  const uint32_t size = std::min(log2, kSizes - 1);
  const double half_decades = std::floor((std::log10(std::max(block.seconds, 1e-12)) + 7) * 2);
  const uint32_t life =
      block.to == kNever ? kLives - 1 : static_cast<uint32_t>(std::clamp(half_decades, 0.0, kLives - 2.0));
  ++sizes_[(block.from * kPeriods / kMostBuckets * kSizes + size) * kLives + life];
  if (block.weight == 0) return;
  const double bytes = static_cast<double>(block.size) * block.weight;
  const uint32_t from = block.from >> halved_;
  ranges_[key(block.site, from, block.to == kNever ? kNeverKey : block.to >> halved_)].add(block.weight, bytes);
  if (block.events != 0 && block.events <= kWithin.back()) {
    uint32_t within = 0;
    while (block.events > kWithin[within]) ++within;
    temporary_[key(block.site, from, within)].add(block.weight, bytes);
  }
  if (ranges_.size() + temporary_.size() > most_ && halved_ < kBucketsLog2) halve();
}

void Ranges::halve() {
  ++halved_;
  Table ranges, temporary;
  for (const auto& [at, sum] : ranges_) {
    const auto site = static_cast<uint32_t>(at >> 32), from = static_cast<uint32_t>(at >> 16 & 0xffff) / 2;
    const auto to = static_cast<uint32_t>(at & 0xffff);
    ranges[key(site, from, to == kNeverKey ? kNeverKey : to / 2)].add(sum.count, sum.bytes);
  }
  for (const auto& [at, sum] : temporary_) {
    const auto site = static_cast<uint32_t>(at >> 32), from = static_cast<uint32_t>(at >> 16 & 0xffff) / 2;
    temporary[key(site, from, static_cast<uint32_t>(at & 0xffff))].add(sum.count, sum.bytes);
  }
  ranges_.swap(ranges);
  temporary_.swap(temporary);
}

void Ranges::write(PlotLines& lines, const Sites& sites) const {
  struct Sorted {
    std::vector<uint32_t> sites, counts;
    std::vector<uint16_t> first, second;
    std::vector<double> bytes;
  };
  const auto sorted = [&](const Table& table) {
    std::map<uint64_t, Sum> sums;
    for (const auto& [at, sum] : table) {
      const uint32_t site = sites.new_number(static_cast<uint32_t>(at >> 32));
      sums[uint64_t{site} << 32 | (at & UINT32_MAX)].add(sum.count, sum.bytes);
    }
    Sorted columns;
    for (const auto& [at, sum] : sums) {
      columns.sites.push_back(static_cast<uint32_t>(at >> 32));
      columns.first.push_back(static_cast<uint16_t>(at >> 16));
      columns.second.push_back(static_cast<uint16_t>(std::min<uint64_t>(at & 0xffff, buckets())));
      columns.counts.push_back(static_cast<uint32_t>(std::min(sum.count + 0.5, 4294967295.0)));
      columns.bytes.push_back(std::floor(sum.bytes + 0.5));
    }
    return columns;
  };
  const Sorted ranges = sorted(ranges_);
  lines.line("ranges", Columns()
                            .add_array("site", delta_array_of(ranges.sites))
                            .add("from", ranges.first)
                            .add("to", ranges.second)
                            .add("count", ranges.counts)
                            .add("bytes", ranges.bytes)
                            .members());
  const Sorted temporary = sorted(temporary_);
  const std::vector<uint8_t> classes(temporary.second.begin(), temporary.second.end());
  std::string within;
  for (const uint64_t events : kWithin) within += (within.empty() ? "" : ",") + std::to_string(events);
  lines.line("temporary", "\"within\":[" + within + "]," +
                               Columns()
                                   .add_array("site", delta_array_of(temporary.sites))
                                   .add("bucket", temporary.first)
                                   .add("within", classes)
                                   .add("count", temporary.counts)
                                   .add("bytes", temporary.bytes)
                                   .members());
  lines.line("sizelife", "\"periods\":" + std::to_string(kPeriods) + ",\"sizes\":" + std::to_string(kSizes) +
                              ",\"lives\":" + std::to_string(kLives) + ',' + array_of(sizes_));
}

}  // namespace acre::trace
