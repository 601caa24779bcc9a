// Blocks that a thread has freed in runs that it does not own, grouped by run, so that a whole group is
// handed over by one atomic operation. There is a group for each size class: what one thread allocates and another
// frees comes from one run of a class after the other. Bounded: a group is sent off when it holds a few KiB, or when
// another run of its class needs its place; all are before a new run is asked for, when they hold much together, by
// collection, and at thread exit.
#pragma once

#include "base/bits.h"
#include "slab/lifecycle.h"

namespace acre {

class Outbox {
 public:
  // True if blocks were handed over on that occasion.
  ACRE_ALWAYS_INLINE bool add(Slab* slab, void* block) {
    const SizeClass c = slab->size_class;
    Group& group = groups_[c];
    bool sent = false;
    if (group.slab != slab) {
      sent = group.slab != nullptr;
      if (sent) send(c);
      group.slab = slab;
      group.head = kEndOfList;
      group.last = link_of(block);
      group.count = 0;
      occupied_[c / 64] |= uint64_t{1} << (c % 64);
    }
    write_link(slab, block, group.head);
    group.head = low_address(block);
    ++group.count;
    bytes_ += slab->block_bytes;
    if ((group.count + 1) * slab->block_bytes > kMostBytes) {
      send(c);
      return true;
    }
    if (bytes_ > kMostBytesInAll) flush();
    return sent;
  }

  void flush() {
    for (unsigned word = 0; word < kWords; ++word) {
      while (occupied_[word] != 0) send(word * 64 + lowest_bit(occupied_[word]));
    }
  }

  // For anyone: the run whose blocks of this class are waiting, null if there is none, and how many they are, in no
  // moment's state; and how many of the class were sent off so far.
  struct Waiting {
    const Slab* slab;
    uint32_t blocks;
  };
  Waiting waiting(SizeClass c) const { return {racy_load(groups_[c].slab), racy_load(groups_[c].count)}; }
  uint64_t sent(SizeClass c) const { return racy_load(groups_[c].sent); }

  // For its thread: bytes of all blocks that were ever put in.
  uint64_t total_bytes() const {
    uint64_t bytes = bytes_;
    for (SizeClass c = 0; c < kSmallClasses; ++c) bytes += groups_[c].sent * size_of_class(c);
    return bytes;
  }

  // Is this block waiting here? Exact for the own thread's outbox, a good guess for others'.
  bool holds(const Slab* slab, const void* block) const;

 private:
  static constexpr uint32_t kMostBytes = 16384;  // in a group
  static constexpr uint32_t kMostBytesInAll = 64 * 1024;
  static constexpr unsigned kWords = (kSmallClasses + 63) / 64;

  struct Group {
    Slab* slab = nullptr;
    Link* last = nullptr;
    LowAddress head = kEndOfList;
    uint32_t count = 0;
    uint64_t sent = 0;  // blocks, so far
  };

  ACRE_NOINLINE void send(SizeClass c) {
    Group& group = groups_[c];
    Slab* slab = group.slab;
    group.slab = nullptr;
    occupied_[c / 64] &= ~(uint64_t{1} << (c % 64));
    bytes_ -= group.count * slab->block_bytes;
    relaxed_add(group.sent, uint64_t{group.count});
    slab::give_back(slab, group.head, group.last, group.count);
  }

  uint64_t occupied_[kWords] = {};  // which groups have blocks
  uint32_t bytes_ = 0;              // in all groups
  Group groups_[kSmallClasses];
};

}  // namespace acre
