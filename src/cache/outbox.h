// Blocks that a thread has freed in runs that it does not own.
//
// A few blocks wait unsorted. They are then grouped by run, so that one atomic operation hands over a whole group.
// There is one group for each size class, since the blocks that one thread allocates and another frees come from one
// run of a class after the other. A group is sent when it has kMostBytes, or when another run of its class needs its
// place. Blocks wait because sorting needs atomic operations, during which the processor would not fetch the blocks of
// the next frees from other processors' caches.
//
// An outbox is bounded: all groups are sent before a new run is asked for, when they have more than kMostBytesInAll
// together, by collection, and at the thread's end.
#pragma once

#include "base/bits.h"
#include "slab/transitions.h"

namespace acre {

class Outbox {
 public:
  // Returns false, with nothing done, if add() has to be called.
  ACRE_ALWAYS_INLINE bool add_quickly(Slab* slab, void* block) {
    const uint32_t bytes = unsorted_bytes_ + slab->block_bytes;
    if (unsorted_count_ == kMostUnsorted - 1 || bytes >= kMostBytes) return false;
    wait(slab, block, bytes);
    return true;
  }

  // Returns true if the unsorted blocks were sorted.
  bool add(Slab* slab, void* block) {
    if (add_quickly(slab, block)) return false;
    wait(slab, block, unsorted_bytes_ + slab->block_bytes);
    sort();
    if (bytes_ > kMostBytesInAll) send_all();
    return true;
  }

  void flush() {
    if (unsorted_count_ != 0) sort();
    send_all();
  }

  // For any thread: calls visit(run, blocks) for each run with waiting blocks. The numbers are not of one moment.
  template <class Visit>
  void for_each_waiting(Visit&& visit) const {
    const auto look_at = [&](const Group& group) {
      if (const Slab* slab = racy_load(group.slab)) visit(slab, racy_load(group.count));
    };
    for (const Group& group : groups_) look_at(group);
    for (uint32_t i = 0, count = smaller(racy_load(unsorted_count_), kMostUnsorted); i < count; ++i) {
      if (const Slab* slab = racy_load(unsorted_[i].slab)) visit(slab, 1u);
    }
  }

  // For any thread: how many blocks of the class were sent so far.
  uint64_t sent(SizeClass c) const { return is_shared_class(c) ? 0 : racy_load(sent_[c]); }

  // For the owner: bytes of all blocks that were ever put in.
  uint64_t total_bytes() const {
    uint64_t bytes = bytes_ + unsorted_bytes_;
    for (SizeClass c = 0; c < kOwnedClasses; ++c) bytes += sent_[c] * size_of_class(c);
    return bytes;
  }

  // For an empty outbox: clears the counts. Writes nothing that is zero.
  void forget() {
    for (uint64_t& sent : sent_) {
      if (sent != 0) sent = 0;
    }
  }

  // Whether this block waits here. Exact for the calling thread's own outbox, a good guess for others.
  bool holds(const Slab* slab, const void* block) const;

 private:
  static constexpr uint32_t kMostBytes = 16384;  // in a group, and unsorted
  static constexpr uint32_t kMostBytesInAll = 48 * 1024;  // in groups
  static constexpr uint32_t kMostUnsorted = 16;
  static constexpr unsigned kWords = (kOwnedClasses + 63) / 64;

  struct Group {
    Slab* slab = nullptr;
    Link* last = nullptr;
    Link* head = nullptr;
    uint32_t count = 0;
  };

  ACRE_ALWAYS_INLINE void wait(Slab* slab, void* block, uint32_t bytes) {
    write_link(block, nullptr);  // marks it as free (slab/free_list.h)
    unsorted_[unsorted_count_++] = {slab, link_of(block)};
    unsorted_bytes_ = bytes;
  }

  ACRE_NOINLINE void send(SizeClass c) {
    const Group group = groups_[c];
    groups_[c].slab = nullptr;
    occupied_[c / 64] &= ~(uint64_t{1} << (c % 64));
    bytes_ -= group.count * group.slab->block_bytes;
    relaxed_add(sent_[c], uint64_t{group.count});
    slab::give_back(group.slab, group.head, group.last, group.count);
  }

  ACRE_ALWAYS_INLINE void add_to_group(Slab* slab, Link* block) {
    const SizeClass c = slab->size_class;
    Group& group = groups_[c];
    if (group.slab != slab) {
      if (group.slab != nullptr) send(c);
      group = {slab, block, nullptr, 0};
      occupied_[c / 64] |= uint64_t{1} << (c % 64);
    }
    block->set_next(group.head);
    group.head = link_of(block);
    ++group.count;
    bytes_ += slab->block_bytes;
    if ((group.count + 1) * slab->block_bytes > kMostBytes) send(c);
  }

  ACRE_NOINLINE void sort() {
    const uint32_t count = unsorted_count_;
    unsorted_count_ = 0;
    unsorted_bytes_ = 0;
    for (uint32_t i = 0; i < count; ++i) add_to_group(unsorted_[i].slab, unsorted_[i].block);
  }

  void send_all() {
    for (unsigned word = 0; word < kWords; ++word) {
      while (occupied_[word] != 0) send(word * 64 + lowest_bit(occupied_[word]));
    }
  }

  uint64_t occupied_[kWords] = {};  // which classes have groups
  uint32_t bytes_ = 0;              // in all groups
  uint32_t unsorted_count_ = 0;
  uint32_t unsorted_bytes_ = 0;
  struct {
    Slab* slab;
    Link* block;
  } unsorted_[kMostUnsorted] = {};
  Group groups_[kOwnedClasses];
  uint64_t sent_[kOwnedClasses] = {};  // in blocks
};

}  // namespace acre
