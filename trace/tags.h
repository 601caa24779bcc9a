// The tag that the thread of each lane has in force, while events go by in order. A lane's block begins without one.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "order.h"

namespace acre::trace {

template <class Tag>
class TagsInForce {
 public:
  // For each event. of(text): the Tag of a name. -> what is in force in the event's lane from then on; Tag(): none.
  template <class Of>
  const Tag& on(const Merged& merged, Of of) {
    Lane& lane = lanes_[uint64_t{merged.process} << 32 | merged.lane];
    if (lane.block != merged.block) lane = {merged.block, Tag()};
    if (merged.event->what == What::kTag) lane.tag = merged.event->text.empty() ? Tag() : of(merged.event->text);
    return lane.tag;
  }

 private:
  struct Lane {
    uint32_t block = kNone;
    Tag tag{};
  };
  std::unordered_map<uint64_t, Lane> lanes_;
};

}  // namespace acre::trace
