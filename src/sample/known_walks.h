// A cache of walks up the stack. From the same place, with the same return addresses at the same places of the stack, a
// walk is the same: a return address says how large the frame is. That of a function with alloca may have any size, which
// its frame pointer tells. So frame pointers that lead into their own frames have to be the same, too. To compare these
// words takes a hundredth of the time of the unwinder.
#pragma once

#include <atomic>

#include "base/atomics.h"
#include "base/frames.h"
#include "base/hash.h"
#include "os/unwind.h"

namespace acre {

// The words that a walk goes by, in its order.
class Trail {
 public:
  static constexpr unsigned kMost = 64;
  static constexpr Address kIsCode = 1;  // a return address
  struct Mark {
    Address place = 0;  // in bytes, from the first frame's stack pointer on, with the flag
    Address word = 0;
  };

  void add(const Mark& mark) {
    if (count_ < kMost) marks_[count_] = mark;
    count_ = smaller(count_ + 1, kMost + 1);
  }
  void go_by_register() { is_by_register_ = true; }  // the first frame's frame pointer
  void give_up() { count_ = kMost + 1; }             // some word was not found on the stack

  bool is_by_register() const { return is_by_register_; }
  bool is_whole() const { return count_ <= kMost; }
  unsigned count() const { return count_; }
  const Mark& operator[](unsigned i) const { return marks_[i]; }

 private:
  unsigned count_ = 0;
  bool is_by_register_ = false;
  Mark marks_[kMost];
};

// Threads read and write without a lock, and none waits. After dlclose another library may lie where a walk's code was.
// Its walk is taken for the former one only if it has calls at the same places, and the stack has the same words.
class KnownWalks {
 public:
  // How many are kept that begin alike: from many places malloc is called with the same stack pointer.
  static constexpr unsigned kWays = 32;

  struct Codes {
    unsigned count = 0;
    Address code[Trail::kMost];
  };

  // The return addresses after the first frame. False: no such walk is known. Reads words between the first frame's stack
  // pointer and the stack's end, and none in a page that cannot be read.
  bool find(const StackFrame& first, Address stack_end, Codes* codes) const {
    const uint64_t hash = hash_of(first);
    const Set& set = sets_[hash >> (kBitsOfWord - kBitsOfSet)];
    for (unsigned i = 0; i < kWays; ++i) {
      const bool may_be = set.hash[i].load(std::memory_order_relaxed) == hash;
      if (may_be && set.walk[i].goes(first, stack_end, codes)) return true;
    }
    return false;
  }

  // A walk that came to the stack's end. It is not kept if its trail is not whole. The oldest of the set makes room.
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
    // What is being written meanwhile may be anything: no place is looked at that is not on the stack. Nor need all below
    // the end be the stack: that of a coroutine may have taken its place, with pages beyond it that cannot be read.
    bool leads(Address stack_pointer, size_t stack_bytes, Codes* codes) const {
      codes->count = 0;
      os::ReadablePages pages(stack_pointer);
      for (unsigned i = 0; i < smaller(relaxed_load(count_), Trail::kMost); ++i) {
        const Address place = relaxed_load(marks_[i].place);
        const Address offset = place & ~Trail::kIsCode, at = stack_pointer + offset;
        if (offset >= stack_bytes || !pages.reads(at)) return false;
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
    std::atomic<uint64_t> hash[kWays];  // side by side: most walks are told apart by that
    Walk walk[kWays];
  };

  static uint64_t hash_of(const StackFrame& first) { return (first.code ^ first.stack_pointer) * kHashFactor; }

  Set sets_[size_t{1} << kBitsOfSet];
  std::atomic<unsigned> turn_{0};
};

}  // namespace acre
