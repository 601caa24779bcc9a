// The tags of blocks, for a plot: those that their threads had in force, or that of the block that a realloc moved.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plot_scan.h"
#include "tags.h"

namespace acre::trace {

class BlockTags {
 public:
  // tags: those that have numbers, 1 …
  explicit BlockTags(const std::vector<PlotTag>& tags) {
    for (const PlotTag& tag : tags) {
      if (numbers_.size() + 1 < kOtherTag) numbers_.emplace(tag.name, static_cast<uint8_t>(numbers_.size() + 1));
    }
  }

  // For each event, before the others.
  void on(const Merged& merged) {
    if (numbers_.empty()) return;
    tag_ = in_force_.on(merged, [&](std::string_view name) {
      const auto found = numbers_.find(std::string(name));
      return found == numbers_.end() ? kOtherTag : found->second;
    });
  }

  // Of the block that this event allocates.
  uint8_t allocated(const Merged& merged) {
    if (numbers_.empty()) return kNoTag;
    Realloc& realloc = reallocs_[key(merged)];
    const bool is_moved = merged.event->kind == record::Kind::kReallocTo;
    const uint8_t tag = is_moved && realloc.from == merged.event->address ? realloc.tag : tag_;
    realloc = {is_moved ? merged.event->address : 0, 0, kNoTag};
    return tag;
  }

  // A block that had this tag goes. -> the address of the one to which a realloc gives the tag; 0: there is none.
  uint64_t freed(const Merged& merged, uint8_t tag) {
    if (numbers_.empty() || merged.event->kind != record::Kind::kReallocFrom) return 0;
    Realloc& realloc = reallocs_[key(merged)];
    const uint64_t to = realloc.to;
    realloc = {0, to == 0 ? merged.event->address : 0, tag};  // without `to` the block is resized where it is
    return tag == kNoTag ? 0 : to;
  }

 private:
  // A realloc of which one of two events has come.
  struct Realloc {
    uint64_t to = 0, from = 0;
    uint8_t tag = kNoTag;  // of the block at `from`
  };
  static uint64_t key(const Merged& merged) { return uint64_t{merged.process} << 32 | merged.lane; }

  std::unordered_map<std::string, uint8_t> numbers_;
  TagsInForce<uint8_t> in_force_;
  std::unordered_map<uint64_t, Realloc> reallocs_;  // by lane
  uint8_t tag_ = kNoTag;
};

}  // namespace acre::trace
