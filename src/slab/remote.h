// A slab run's remote word: one atomic that holds the list of blocks freed by threads that don't own the
// run, how much of the run is free, and who may touch the rest of its header.
//
//   kOwned   one thread holds the run. free: length of the remote list. local: 0.
//   kFull    nobody holds it, and it is in no list: too little of it is free to be worth a search.
//   kBinned  nobody holds it; it is in its bin, or the thread that made it kBinned is about to put it there.
//
// While nobody holds the run, free counts all its free blocks: those on the remote list, and `local` others
// (deferred or not carved), which only the next holder can reach. Everything that a change of the word
// depends on is in the word itself, so a compare-and-swap that succeeds was right even if the word had other
// values in between, and no tag is needed. tests/model holds the protocol in Promela.
#pragma once

#include <atomic>

#include "slab/free_list.h"

namespace acre {

enum class Holding : uint8_t { kOwned, kFull, kBinned };

struct RemoteWord {
  Holding holding = Holding::kOwned;
  uint32_t free = 0;
  uint32_t local = 0;
  uint32_t head = 0;  // 0: empty list; otherwise the first block's offset in the run / 8, plus 1

  // Bits: head 0–16, free 17–31, local 32–46, holding 47–48.
  static constexpr unsigned kFreeAt = 17, kLocalAt = 32, kHoldingAt = 47;
  static constexpr uint64_t kHeadMask = (uint64_t{1} << kFreeAt) - 1;
  static constexpr uint64_t kCountMask = 0x7fff;

  uint64_t pack() const {
    return uint64_t{head} | uint64_t{free} << kFreeAt | uint64_t{local} << kLocalAt |
           uint64_t{static_cast<uint8_t>(holding)} << kHoldingAt;
  }
  static RemoteWord unpack(uint64_t bits) {
    RemoteWord word;
    word.head = static_cast<uint32_t>(bits & kHeadMask);
    word.free = static_cast<uint32_t>(bits >> kFreeAt & kCountMask);
    word.local = static_cast<uint32_t>(bits >> kLocalAt & kCountMask);
    word.holding = static_cast<Holding>(bits >> kHoldingAt);
    return word;
  }

  // The most frequent change, without unpacking: `count` more blocks, whose first is at `head`, on the list of a run
  // that stays owned, or full although as few as `enough` free blocks would put it into its bin.
  static bool only_grows(uint64_t bits, uint32_t count, uint32_t enough) {
    const auto holding = static_cast<Holding>(bits >> kHoldingAt);
    return holding == Holding::kOwned ||
           (holding == Holding::kFull && (bits >> kFreeAt & kCountMask) + count < enough);
  }
  static uint64_t grown(uint64_t bits, uint32_t count, uint32_t head) {
    return ((bits & ~kHeadMask) | head) + (uint64_t{count} << kFreeAt);
  }
};

inline RemoteWord load_remote(const Slab* slab) {
  return RemoteWord::unpack(slab->remote.load(std::memory_order_acquire));
}

// On failure `from` is what is there now.
inline bool change_remote(Slab* slab, RemoteWord& from, const RemoteWord& to) {
  uint64_t expected = from.pack();
  if (slab->remote.compare_exchange_weak(expected, to.pack(), std::memory_order_acq_rel,
                                        std::memory_order_acquire)) {
    return true;
  }
  from = RemoteWord::unpack(expected);
  return false;
}

// For a run that nobody else knows of.
inline void reset_remote(Slab* slab) { slab->remote.store(RemoteWord{}.pack(), std::memory_order_relaxed); }

inline LowAddress head_block(const Slab* slab, uint32_t head) {
  return head == 0 ? kEndOfList : low_address(slab->base + (head - 1) * size_t{8});
}
inline LowAddress head_block(const Slab* slab, const RemoteWord& word) { return head_block(slab, word.head); }
inline uint32_t head_of(const Slab* slab, Address block) {
  return static_cast<uint32_t>((block - slab->base) / 8 + 1);
}

}  // namespace acre
