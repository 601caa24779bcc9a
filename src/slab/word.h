// A slab run's remote word: one atomic that holds the run's state, the list of blocks freed by threads that do not own
// the run, and how much of the run is free. slab.h has the table of states and changes.
//
//   owned    free: length of the remote list. local: 0.
//   others   free: all free blocks, but for those on the deferred list of a shared run. local: free blocks that are not
//            on the remote list (deferred, or not carved): only the next holder can reach them.
//
// The word has everything that a change of it depends on. So a compare-and-swap that succeeds is right even if the word
// had other values in between, and no ABA tag is needed. tests/model holds the protocol in Promela; tests/interleave
// searches the interleavings of this code.
//
// Memory orders. A change of state is acquire and release: the next holder sees what holders and freeing threads wrote
// to the header and to free blocks. To put blocks on the list is release alone. tests/interleave plants a weaker order
// in each place of this folder, and has to find each.
#pragma once

#include <atomic>

#include "slab/free_list.h"

namespace acre {

// Full is binned less one (full_if_below()).
enum class RunState : uint8_t { kOwned = 0, kFull = 1, kBinned = 2, kSharedFull = 5, kSharedBinned = 6 };

inline constexpr uint8_t kSharedBit = 4;
constexpr uint8_t bits_of(RunState state) { return static_cast<uint8_t>(state); }
constexpr bool is_shared(RunState state) { return (bits_of(state) & kSharedBit) != 0; }
constexpr bool is_full(RunState state) { return (bits_of(state) & ~kSharedBit) == bits_of(RunState::kFull); }
constexpr bool is_binned(RunState state) { return (bits_of(state) & ~kSharedBit) == bits_of(RunState::kBinned); }

// The state of a run that no thread owns. enough: the number of free blocks that puts the run into its bin.
constexpr RunState unowned_state(uint32_t free, uint32_t enough, bool shared) {
  const RunState plain = free >= enough ? RunState::kBinned : RunState::kFull;
  return shared ? static_cast<RunState>(bits_of(plain) | kSharedBit) : plain;
}

struct RemoteWord {
  RunState state = RunState::kOwned;
  uint32_t free = 0;
  uint32_t local = 0;
  uint32_t head = 0;  // 0: empty list; otherwise the first block's offset in the run / 8, plus 1

  // Bits: head 0–16, free 17–31, local 32–46, state 47–49.
  static constexpr unsigned kFreeAt = 17, kLocalAt = 32, kStateAt = 47;
  static constexpr uint64_t kHeadMask = (uint64_t{1} << kFreeAt) - 1;
  static constexpr uint64_t kCountMask = 0x7fff;

  uint64_t pack() const {
    return uint64_t{head} | uint64_t{free} << kFreeAt | uint64_t{local} << kLocalAt |
           uint64_t{bits_of(state)} << kStateAt;
  }
  static RemoteWord unpack(uint64_t bits) {
    RemoteWord word;
    word.head = static_cast<uint32_t>(bits & kHeadMask);
    word.free = static_cast<uint32_t>(bits >> kFreeAt & kCountMask);
    word.local = static_cast<uint32_t>(bits >> kLocalAt & kCountMask);
    word.state = static_cast<RunState>(bits >> kStateAt);
    return word;
  }

  // The word of a run that becomes owned: only the remote list counts.
  RemoteWord owned() const { return {RunState::kOwned, free - local, 0, head}; }

  // The most frequent change, without unpacking: `count` more blocks, the first at `head`, go onto the list of a run
  // that stays owned, or that stays full: fewer than `enough` blocks are free.
  static bool only_grows(uint64_t bits, uint32_t count, uint32_t enough) {
    const RunState state = state_in(bits);
    return state == RunState::kOwned || (is_full(state) && (bits >> kFreeAt & kCountMask) + count < enough);
  }
  static uint64_t grown(uint64_t bits, uint32_t count, uint32_t head) {
    return ((bits & ~kHeadMask) | head) + (uint64_t{count} << kFreeAt);
  }

  // The word of a run in its bin, less `count` blocks of the list, whose first block is `head` then, or local ones. The
  // run becomes full if fewer than `enough` are left.
  static uint64_t less_listed(uint64_t bits, uint32_t count, uint32_t head, uint32_t enough) {
    return full_if_below(((bits & ~kHeadMask) | head) - (uint64_t{count} << kFreeAt), enough);
  }
  static uint64_t less_local(uint64_t bits, uint32_t count, uint32_t enough) {
    return full_if_below(bits - (uint64_t{count} << kFreeAt) - (uint64_t{count} << kLocalAt), enough);
  }
  static uint64_t full_if_below(uint64_t bits, uint32_t enough) {
    static_assert(bits_of(RunState::kBinned) - 1 == bits_of(RunState::kFull));
    static_assert(bits_of(RunState::kSharedBinned) - 1 == bits_of(RunState::kSharedFull));
    return (bits >> kFreeAt & kCountMask) >= enough ? bits : bits - (uint64_t{1} << kStateAt);
  }
  static uint32_t head_in(uint64_t bits) { return static_cast<uint32_t>(bits & kHeadMask); }
  static uint32_t listed_in(uint64_t bits) {
    return static_cast<uint32_t>((bits >> kFreeAt & kCountMask) - (bits >> kLocalAt & kCountMask));
  }
  static RunState state_in(uint64_t bits) { return static_cast<RunState>(bits >> kStateAt); }
};

// Before a change of the word, which acquires; and for figures.
inline RemoteWord load_remote(const Slab* slab) {
  return RemoteWord::unpack(slab->remote.load(std::memory_order_relaxed));
}

// To act on the word without changing it. Acquire: pairs with change_remote() and give_back().
inline RemoteWord acquire_remote(const Slab* slab) {
  return RemoteWord::unpack(slab->remote.load(std::memory_order_acquire));
}

// On failure, sets `from` to the current word, as acquire_remote() returns it. Acquire and release: each change pairs
// with those before and after, and with give_back().
inline bool change_remote(Slab* slab, RemoteWord& from, const RemoteWord& to) {
  uint64_t expected = from.pack();
  if (slab->remote.compare_exchange_weak(expected, to.pack(), std::memory_order_acq_rel,
                                        std::memory_order_acquire)) {
    return true;
  }
  from = RemoteWord::unpack(expected);
  return false;
}

// For a run that no other thread knows.
inline void reset_remote(Slab* slab) { slab->remote.store(RemoteWord{}.pack(), std::memory_order_relaxed); }

inline Link* head_block(const Slab* slab, uint32_t head) {
  return head == 0 ? nullptr : link_of(slab->base + (head - 1) * size_t{8});
}
inline Link* head_block(const Slab* slab, const RemoteWord& word) { return head_block(slab, word.head); }
inline uint32_t head_of(const Slab* slab, const Link* block) {
  return static_cast<uint32_t>((address_of(block) - slab->base) / 8 + 1);
}

}  // namespace acre
