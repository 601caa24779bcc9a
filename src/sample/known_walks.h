// A cache of stack walks. A walk depends on its first frame and on the return addresses on the stack: a return address
// determines the size of its frame, so it determines where the next one lies. A function with alloca has frames of any
// size, and its frame pointer determines the size. So a walk also depends on the frame pointers that point into their own
// frames (the first of these may be in the register). While these words are the same, so is the walk. To compare the words
// takes a hundredth of the unwinder's time.
#pragma once

#include <atomic>

#include "base/atomics.h"
#include "base/compiler.h"
#include "base/frames.h"
#include "base/hash.h"
#include "os/unwind.h"

namespace acre {

// The words that a walk depends on, in the order of the walk.
class Trail {
 public:
  static constexpr unsigned kMost = 64;
  static constexpr uint32_t kIsCode = 1;  // the word is a return address
  // Distances are in bytes from the first frame's stack pointer. A stack whose end is known is shorter than 1 GiB.
  struct Mark {
    uint32_t place = 0;          // with the flag
    uint32_t stack_pointer = 0;  // of the frame that the return address leads to
    Address word = 0;
  };

  void add(const Mark& mark) {
    if (count_ < kMost) marks_[count_] = mark;
    count_ = smaller(count_ + 1, kMost + 1);
  }
  void go_by_register() { is_by_register_ = true; }  // the walk depends on the first frame's frame pointer
  void give_up() { count_ = kMost + 1; }             // a word that the walk depends on was not found

  bool is_by_register() const { return is_by_register_; }
  bool is_whole() const { return count_ <= kMost; }
  unsigned count() const { return count_; }
  const Mark& operator[](unsigned i) const { return marks_[i]; }

 private:
  unsigned count_ = 0;
  bool is_by_register_ = false;
  Mark marks_[kMost];
};

// Threads read and write without a lock, and no thread waits. After dlclose another library may lie where the code of a
// walk was. The old walk is used for the new library only if this one has calls at the same places, and the stack holds
// the same words.
class KnownWalks {
 public:
  // How many walks are kept with the same first frame: many places call malloc with the same stack pointer.
  static constexpr unsigned kWays = 32;

  struct Codes {
    unsigned count = 0;
    Address code[Trail::kMost];
    uint32_t depth[Trail::kMost];  // of each frame's stack pointer
  };

  // Finds where the frames after the first one go on. Reads words between the first frame's stack pointer and the
  // stack's end, and only in readable pages.
  ACRE_APART bool find(const StackFrame& first, Address stack_end, Codes* codes) const {
    const uint64_t hash = hash_of(first);
    const Set& set = sets_[hash >> (kBitsOfWord - kBitsOfSet)];
    for (unsigned i = 0; i < kWays; ++i) {
      const bool may_be = set.hash[i].load(std::memory_order_relaxed) == hash;
      if (may_be && set.walk[i].goes(first, stack_end, codes)) return true;
    }
    return false;
  }

  // Keeps a walk that reached the stack's end, unless its trail is not whole. It replaces one of its set, chosen by a
  // counter of all sets.
  void keep(const StackFrame& first, Address stack_end, const Trail& trail) {
    if (!trail.is_whole()) return;
    const uint64_t hash = hash_of(first);
    Set& set = sets_[hash >> (kBitsOfWord - kBitsOfSet)];
    const unsigned way = turn_.fetch_add(1, std::memory_order_relaxed) % kWays;
    set.walk[way].become(first, stack_end, trail);
    set.hash[way].store(hash, std::memory_order_relaxed);
  }

 private:
  static constexpr unsigned kBitsOfWord = 64, kBitsOfSet = 3;

  class Walk {
   public:
    bool goes(const StackFrame& first, Address stack_end, Codes* codes) const {
      const uint32_t version = version_.load(std::memory_order_acquire);
      if (version % 2 != 0 || relaxed_load(code_) != first.code || relaxed_load(stack_pointer_) != first.stack_pointer ||
          relaxed_load(stack_end_) != stack_end ||
          (relaxed_load(is_by_register_) && relaxed_load(frame_pointer_) != first.frame_pointer)) {
        return false;
      }
      if (!leads(first.stack_pointer, stack_end - first.stack_pointer, codes)) return false;
      std::atomic_thread_fence(std::memory_order_acquire);
      return version_.load(std::memory_order_relaxed) == version;
    }

    // Does nothing if another thread, or code that a signal interrupted, is writing the same entry.
    void become(const StackFrame& first, Address stack_end, const Trail& trail) {
      uint32_t version = version_.load(std::memory_order_relaxed);
      if (version % 2 != 0 || !version_.compare_exchange_strong(version, version + 1, std::memory_order_relaxed)) return;
      std::atomic_thread_fence(std::memory_order_release);
      relaxed_store(code_, first.code);
      relaxed_store(stack_pointer_, first.stack_pointer);
      relaxed_store(frame_pointer_, first.frame_pointer);
      relaxed_store(is_by_register_, trail.is_by_register());
      relaxed_store(stack_end_, stack_end);
      relaxed_store(count_, trail.count());
      for (unsigned i = 0; i < trail.count(); ++i) {
        relaxed_store(marks_[i].place, trail[i].place);
        relaxed_store(marks_[i].stack_pointer, trail[i].stack_pointer);
        relaxed_store(marks_[i].word, trail[i].word);
      }
      version_.store(version + 2, std::memory_order_release);
    }

   private:
    // A concurrent write may leave any place in the marks, so each is checked against the stack's bounds. The page is
    // checked, too: the stack of a coroutine may lie there now, with unreadable pages above it.
    bool leads(Address stack_pointer, size_t stack_bytes, Codes* codes) const {
      codes->count = 0;
      os::ReadablePages pages(stack_pointer);
      for (unsigned i = 0; i < smaller(relaxed_load(count_), Trail::kMost); ++i) {
        const uint32_t place = relaxed_load(marks_[i].place);
        const uint32_t offset = place & ~Trail::kIsCode;
        const Address at = stack_pointer + offset;
        if (offset >= stack_bytes || !pages.reads(at)) return false;
        const Address word = word_at(at);
        if (word != relaxed_load(marks_[i].word)) return false;
        if ((place & Trail::kIsCode) == 0) continue;
        codes->depth[codes->count] = relaxed_load(marks_[i].stack_pointer);
        codes->code[codes->count++] = word & kCodeBits;
      }
      return true;
    }

    std::atomic<uint32_t> version_{0};  // odd while the entry is written
    unsigned count_ = 0;
    bool is_by_register_ = false;
    Address code_ = 0, stack_pointer_ = 0, frame_pointer_ = 0, stack_end_ = 0;  // code 0: none
    Trail::Mark marks_[Trail::kMost] = {};
  };

  struct alignas(64) Set {
    std::atomic<uint64_t> hash[kWays];  // side by side: they tell most walks apart
    Walk walk[kWays];
  };

  static uint64_t hash_of(const StackFrame& first) { return (first.code ^ first.stack_pointer) * kHashFactor; }

  Set sets_[size_t{1} << kBitsOfSet];
  std::atomic<unsigned> turn_{0};
};

}  // namespace acre
