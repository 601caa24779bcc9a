// The blocks that a plot names one by one: all of them, or those with the largest size × lifetime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace acre::trace {

class KeptBlocks {
 public:
  struct Entry {
    double area;      // bytes × seconds
    double from, to;  // to: NaN where it lives at the end
    uint64_t y, size;
    uint32_t thread, site;
    uint8_t tag;
  };

  // Keeps at least `most` entries if there are so many, and takes memory for twice as many.
  explicit KeptBlocks(size_t most) : most_(most) {}

  void add(const Entry& entry) {
    has_tags_ |= entry.tag != 0;
    ++count_;
    if (entry.area < least_) return;
    entries_.push_back(entry);
    if (entries_.size() >= 2 * most_) keep(most_);
  }

  // site(s): called for the number of each entry's site, to change it.
  template <class Site>
  void number_sites(Site site) {
    for (Entry& entry : entries_) entry.site = site(entry.site);
  }

  // The members of the line "blocks:0:0:0", which take at most `budget` bytes.
  std::string members(double from, double to, uint64_t budget);
  bool is_complete() const { return entries_.size() == count_; }
  size_t count() const { return entries_.size(); }

 private:
  void keep(size_t most);
  std::string encode(double from, double to) const;

  size_t most_;
  uint64_t count_ = 0;
  double least_ = 0;
  bool has_tags_ = false;
  std::vector<Entry> entries_;
};

}  // namespace acre::trace
