// Walks up stacks that were done before. Where a walk leads depends on where it begins and on the words of the stack that
// it goes by: the addresses to return to, and those frame pointers that frames' ends are counted from, the first of which
// may be the register's. While these are the same, so is the walk, and to look at them takes a tenth of the time.
#pragma once

#include <atomic>

#include "base/atomics.h"
#include "base/frames.h"
#include "base/hash.h"
#include "os/unwind.h"

namespace acre {

// The words that a walk went by, in its order.
class Trail {
 public:
  static constexpr unsigned kMost = 40;
  static constexpr Address kIsCode = 1;       // an address to return to
  static constexpr Address kIsUncertain = 2;  // whether its page can be read, must be asked
  static constexpr Address kFlags = kIsCode | kIsUncertain;
  struct Mark {
    Address place = 0;  // in bytes, from the first frame's stack pointer on, with flags
    Address word = 0;
  };

  void add(const Mark& mark) {
    if (count_ < kMost) marks_[count_] = mark;
    count_ = smaller(count_ + 1, kMost + 1);
  }
  void go_by_register() { is_by_register_ = true; }  // the first frame's frame pointer

  bool is_by_register() const { return is_by_register_; }
  bool is_whole() const { return count_ <= kMost; }
  unsigned count() const { return count_; }
  const Mark& operator[](unsigned i) const { return marks_[i]; }

 private:
  unsigned count_ = 0;
  bool is_by_register_ = false;
  Mark marks_[kMost];
};

// Threads read and write without a lock, and none waits. After dlclose another library may lie where a walk's code was; it
// is taken for the former only if it has calls at the same places, and the stack the same words.
class KnownWalks {
 public:
  struct Codes {
    unsigned count = 0;
    Address code[Trail::kMost];
  };

  // Where the frames after the first go on. Reads the stack in the order of the walk, and so nothing that the walk would
  // not read.
  bool find(const StackFrame& first, Address stack_end, Codes* codes) const {
    const uint64_t hash = hash_of(first);
    const Set& set = sets_[hash >> (kBitsOfWord - kBitsOfSet)];
    for (unsigned i = 0; i < kWays; ++i) {
      const bool may_be = set.hash[i].load(std::memory_order_relaxed) == hash;
      if (may_be && set.walk[i].goes(first, stack_end, codes)) return true;
    }
    return false;
  }

  // A walk that came to the stack's end. The oldest of the set makes room.
  void keep(const StackFrame& first, Address stack_end, const Trail& trail) {
    if (!trail.is_whole()) return;
    const uint64_t hash = hash_of(first);
    Set& set = sets_[hash >> (kBitsOfWord - kBitsOfSet)];
    const unsigned way = turn_.fetch_add(1, std::memory_order_relaxed) % kWays;
    set.walk[way].become(first, stack_end, trail);
    set.hash[way].store(hash, std::memory_order_relaxed);
  }

 private:
  static constexpr unsigned kBitsOfWord = 64, kBitsOfSet = 6;
  static constexpr unsigned kWays = 4;

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

    // Not while another thread, or what a signal has interrupted, does the same.
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
        relaxed_store(marks_[i].word, trail[i].word);
      }
      version_.store(version + 2, std::memory_order_release);
    }

   private:
    // What is being written meanwhile may be anything: no place is looked at that is not on the stack.
    bool leads(Address stack_pointer, size_t stack_bytes, Codes* codes) const {
      codes->count = 0;
      os::ReadablePages pages;
      for (unsigned i = 0; i < smaller(relaxed_load(count_), Trail::kMost); ++i) {
        const Address place = relaxed_load(marks_[i].place);
        const Address offset = place & ~Trail::kFlags, at = stack_pointer + offset;
        if (offset >= stack_bytes || ((place & Trail::kIsUncertain) != 0 && !pages.reads(at))) return false;
        const Address word = word_at(at);
        if (word != relaxed_load(marks_[i].word)) return false;
        if ((place & Trail::kIsCode) != 0) codes->code[codes->count++] = word & kCodeBits;
      }
      return true;
    }

    std::atomic<uint32_t> version_{0};  // odd: it is being written
    unsigned count_ = 0;
    bool is_by_register_ = false;
    Address code_ = 0, stack_pointer_ = 0, frame_pointer_ = 0, stack_end_ = 0;  // code 0: none
    Trail::Mark marks_[Trail::kMost] = {};
  };

  struct alignas(64) Set {
    std::atomic<uint64_t> hash[kWays];  // in one cache line: most stacks are known or not by that
    Walk walk[kWays];
  };

  static uint64_t hash_of(const StackFrame& first) { return (first.code ^ first.stack_pointer) * kHashFactor; }

  Set sets_[size_t{1} << kBitsOfSet];
  std::atomic<unsigned> turn_{0};
};

}  // namespace acre
