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
  uint64_t pack() const {
    return uint64_t{head} | uint64_t{free} << 17 | uint64_t{local} << 32 |
           uint64_t{static_cast<uint8_t>(holding)} << 47;
  }
  static RemoteWord unpack(uint64_t bits) {
    RemoteWord word;
    word.head = static_cast<uint32_t>(bits & 0x1ffff);
    word.free = static_cast<uint32_t>(bits >> 17 & 0x7fff);
    word.local = static_cast<uint32_t>(bits >> 32 & 0x7fff);
    word.holding = static_cast<Holding>(bits >> 47 & 3);
    return word;
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

inline LowAddress head_block(const Slab* slab, const RemoteWord& word) {
  return word.head == 0 ? kEndOfList : low_address(slab->base + (word.head - 1) * size_t{8});
}
inline uint32_t head_of(const Slab* slab, Address block) {
  return static_cast<uint32_t>((block - slab->base) / 8 + 1);
}

}  // namespace acre
