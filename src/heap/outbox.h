// Blocks that a thread has freed in runs that it does not own, grouped by run, so that a whole group is
// handed over by one atomic operation. Bounded: a group is sent off when it holds a few KiB, when another
// run needs its place, before a new run is asked for, by collection, and at thread exit.
#pragma once

#include "slab/lifecycle.h"

namespace acre {

class Outbox {
 public:
  void add(Slab* slab, void* block) {
    Group& group = groups_[place_of(slab)];
    if (group.slab != slab) {
      send(group);
      group.slab = slab;
      group.head = kEndOfList;
      group.last = link_of(block);
      group.count = 0;
    }
    write_link(slab, block, group.head);
    group.head = low_address(block);
    if (++group.count >= most_for(slab)) send(group);
  }

  void flush() {
    for (Group& group : groups_) send(group);
  }

  // Is this block waiting here? Exact for the own thread's outbox, a good guess for others'.
  bool holds(const Slab* slab, const void* block) const;

 private:
  static constexpr unsigned kGroups = 16;
  static constexpr uint32_t kMostBytes = 4096;  // in a group

  struct Group {
    Slab* slab = nullptr;
    Link* last = nullptr;
    LowAddress head = kEndOfList;
    uint32_t count = 0;
  };

  static unsigned place_of(const Slab* slab) { return (address_of(slab) / sizeof(Slab)) % kGroups; }
  static uint32_t most_for(const Slab* slab) { return kMostBytes / slab->block_bytes; }

  void send(Group& group) {
    Slab* slab = group.slab;
    if (slab == nullptr) return;
    group.slab = nullptr;
    slab::give_back(slab, group.head, group.last, group.count);
  }

  Group groups_[kGroups];
};

}  // namespace acre
