// Blocks that a thread has freed in runs that it does not own, grouped by run, so that a whole group is
// handed over by one atomic operation. There is a group for each size class: what one thread allocates and another
// frees comes from one run of a class after the other. Where it does not, a group whose place another run needs joins a
// queue. The queue is sent off when it is full, and not each group at once: an atomic operation keeps the processor from
// fetching what the next frees need, which lies in other processors' caches.
// Bounded: a group is sent off when it holds a few KiB; all are before a new run is asked for, when they hold much
// together, by collection, and at thread exit.
#pragma once

#include "base/bits.h"
#include "slab/lifecycle.h"

namespace acre {

class Outbox {
 public:
  // True if a group was sent off or joined the queue on that occasion.
  ACRE_ALWAYS_INLINE bool add(Slab* slab, void* block) {
    const SizeClass c = slab->size_class;
    Group& group = groups_[c];
    bool moved = false;
    if (group.slab != slab) {
      moved = group.slab != nullptr;
      if (moved) put_in_queue(group);
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
      send_class(c);
      return true;
    }
    if (bytes_ > kMostBytesInAll) flush();
    return moved;
  }

  void flush() {
    send_queue();
    for (unsigned word = 0; word < kWords; ++word) {
      while (occupied_[word] != 0) send_class(word * 64 + lowest_bit(occupied_[word]));
    }
  }

  // For anyone: visit(run, blocks) for each run of which blocks are waiting, in no moment's state.
  template <class Visit>
  void for_each_waiting(Visit&& visit) const {
    const auto look_at = [&](const Group& group) {
      if (const Slab* slab = racy_load(group.slab)) visit(slab, racy_load(group.count));
    };
    for (const Group& group : groups_) look_at(group);
    for (uint32_t i = 0, queued = smaller(racy_load(queued_), kMostQueued); i < queued; ++i) look_at(queue_[i]);
  }

  // For anyone: how many blocks of the class were sent off so far.
  uint64_t sent(SizeClass c) const { return racy_load(sent_[c]); }

  // For its thread: bytes of all blocks that were ever put in.
  uint64_t total_bytes() const {
    uint64_t bytes = bytes_;
    for (SizeClass c = 0; c < kSmallClasses; ++c) bytes += sent_[c] * size_of_class(c);
    return bytes;
  }

  // Is this block waiting here? Exact for the own thread's outbox, a good guess for others'.
  bool holds(const Slab* slab, const void* block) const;

 private:
  static constexpr uint32_t kMostBytes = 16384;  // in a group
  static constexpr uint32_t kMostBytesInAll = 64 * 1024;
  static constexpr uint32_t kMostQueued = 16;
  static constexpr unsigned kWords = (kSmallClasses + 63) / 64;

  struct Group {
    Slab* slab = nullptr;
    Link* last = nullptr;
    LowAddress head = kEndOfList;
    uint32_t count = 0;
  };

  void send(const Group& group) {
    Slab* slab = group.slab;
    bytes_ -= group.count * slab->block_bytes;
    relaxed_add(sent_[slab->size_class], uint64_t{group.count});
    slab::give_back(slab, group.head, group.last, group.count);
  }

  ACRE_NOINLINE void send_class(SizeClass c) {
    const Group group = groups_[c];
    groups_[c].slab = nullptr;
    occupied_[c / 64] &= ~(uint64_t{1} << (c % 64));
    send(group);
  }

  ACRE_NOINLINE void send_queue() {
    const uint32_t queued = queued_;
    queued_ = 0;
    for (uint32_t i = 0; i < queued; ++i) send(queue_[i]);
  }

  ACRE_ALWAYS_INLINE void put_in_queue(const Group& group) {
    if (queued_ == kMostQueued) send_queue();
    queue_[queued_++] = group;
  }

  uint64_t occupied_[kWords] = {};  // which classes have groups
  uint32_t bytes_ = 0;              // in all groups
  uint32_t queued_ = 0;
  Group groups_[kSmallClasses];
  Group queue_[kMostQueued];
  uint64_t sent_[kSmallClasses] = {};  // blocks, so far
};

}  // namespace acre
