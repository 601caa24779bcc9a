#include "plot_sites.h"

#include <algorithm>

namespace acre::trace {

void Sites::on(const Merged& merged) {
  stacks_.on(merged);
  if (merged.event->what == What::kStackIs) known_[merged.process].erase(merged.event->numbers[0]);
}

uint32_t Sites::site_of(uint32_t process, const Event& allocation) {
  if (allocation.stack == kNoStack) return 0;
  const auto [known, is_new] = known_[process].try_emplace(allocation.stack, 0);
  if (!is_new) return known->second;
  const Stacks::Frames& frames = stacks_.frames(process, allocation.stack);
  if (frames.empty()) {
    known_[process].erase(known);
    return 0;
  }
  const auto [entry, is_first] = by_frames_.try_emplace(frames, static_cast<uint32_t>(frames_.size()));
  if (is_first) {
    frames_.push_back(&entry->first);
    bytes_.push_back(0);
  }
  known->second = entry->second;
  return entry->second;
}

double Sites::weight(uint32_t site, uint64_t size) const {
  return every_ > 1 && site == 0 ? 0 : blocks_of_a_sample(size, every_);
}

size_t Sites::choose(uint64_t budget) {
  std::vector<uint32_t> order;
  for (uint32_t site = 1; site < frames_.size(); ++site) order.push_back(site);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return bytes_[a] != bytes_[b] ? bytes_[a] > bytes_[b] : a < b;
  });
  new_.assign(frames_.size(), 0);
  std::string list = "[]";
  uint32_t number = 0;
  for (const uint32_t site : order) {
    std::string text = ",[";
    for (const uint64_t frame : *frames_[site]) text += std::to_string(frame) + ',';
    text.back() = ']';
    if (list.size() + text.size() > budget) break;
    list += text;
    new_[site] = ++number;
  }
  members_ = "\"frames\":[" + list + ']';
  return order.size() - number;
}

}  // namespace acre::trace
