// A cache of steps from a frame to its caller's. A return address determines how the code there has laid out its frame:
// by how much the frame's end lies above the stack pointer, or above the frame pointer in functions with frames of any
// size, and where the frame has the caller's frame pointer. Programs have far fewer such places than stacks.
//
// Steps are learned from the unwinder's walks. A place where walks contradict each other is irregular: the unwinder alone
// walks through it. What is learned of a place may still be wrong, if a register has the same value in two frames by
// chance. Then the step mostly leads to a word that is no known return address, the unwinder is asked, and the step is
// learned again; and the unwinder also repeats some walks (capture.h).
#pragma once

#include <atomic>

#include "base/compiler.h"
#include "base/frames.h"
#include "base/hash.h"
#include "os/unwind.h"

namespace acre {

class KnownSteps {
 public:
  enum class Step { kNone, kTaken, kEnd };
  struct Read {  // the words that a step has read; 0: none
    Address code_at = 0, saved_at = 0;
  };

  // Goes from the frame, which lies below the stack's end, to its caller's. kNone: it is not known how. kEnd: there is no
  // caller. Reads words of the frame below the stack's end, and only where pages.reads() says so.
  template <class Pages>
  ACRE_ALWAYS_INLINE Step go(StackFrame& frame, Address stack_end, Pages&& pages, Read* read = nullptr) const {
    const uint32_t rule = find(frame.code);
    Address from = frame.stack_pointer;
    if (ACRE_UNLIKELY(kind_of(rule) != Kind::kByStackPointer || rule == 0)) {
      if (kind_of(rule) != Kind::kByFramePointer) return kind_of(rule) == Kind::kEnd ? Step::kEnd : Step::kNone;
      from = frame.frame_pointer - kRecordBelow;
      const bool is_inside = from - frame.stack_pointer < stack_end - frame.stack_pointer;
      if (ACRE_UNLIKELY(!is_inside || !is_aligned(from, sizeof(Address)))) return Step::kNone;
    }
    const Address end = from + words_of(rule) * sizeof(Address);
    if (ACRE_UNLIKELY(end > stack_end)) return Step::kNone;
    const Address code_at = kRecordsEndFrames ? end - sizeof(Address) : from + sizeof(Address);
    if (ACRE_UNLIKELY(!pages.reads(code_at))) return Step::kNone;
    Address saved_at = 0;
    if (saved_of(rule) != 0) {
      saved_at = end - saved_of(rule) * sizeof(Address);
      if (ACRE_UNLIKELY(!pages.reads(saved_at))) return Step::kNone;
      frame.frame_pointer = word_at(saved_at);
    }
    if (read != nullptr) *read = {code_at, saved_at};
    frame.code = word_at(code_at) & kCodeBits;
    frame.stack_pointer = end;
    return Step::kTaken;
  }

  // Differs after a step was learned.
  uint32_t changes() const { return changes_.load(std::memory_order_acquire); }

  // The unwinder has gone from `callee` to `caller`.
  void learn(const StackFrame& callee, const StackFrame& caller, Address stack_end, os::ReadablePages& pages) {
    Rule rule = rule_of(callee.code);
    if (rule.kind == Kind::kIrregular) return;
    const Frame frame{callee, caller, stack_end, pages};
    const Rule before = rule;
    if (!frame.agrees_with(rule)) rule = rule.kind == Kind::kEnd ? Rule{Kind::kIrregular} : frame.rule_after(rule);
    if (!(rule == before)) keep(callee.code, rule);
  }
  // The unwinder has found no caller.
  void learn_end(const StackFrame& last) {
    const Rule rule = rule_of(last.code);
    if (rule.kind == Kind::kEnd || rule.kind == Kind::kIrregular) return;
    keep(last.code, {rule.words == 0 ? Kind::kEnd : Kind::kIrregular});
  }
  // The caller is none by a return address: a signal interrupted it.
  void learn_irregular(const StackFrame& callee) {
    if (rule_of(callee.code).kind != Kind::kIrregular) keep(callee.code, {Kind::kIrregular});
  }

 private:
  // An entry is the higher bits of a code's hash and its rule. The hash's lower bits are the set's number: no two codes
  // of 48 bits have the same of both.
  static constexpr unsigned kWordBits = 64, kCodeBitCount = 48, kSetBits = 14;
  static constexpr unsigned kKindBits = 2, kCountBits = 14, kRuleBits = kKindBits + 2 * kCountBits;
  static_assert(kRuleBits + kCodeBitCount - kSetBits == kWordBits);
  static constexpr unsigned kWays = 4;

  enum class Kind : uint32_t { kByStackPointer, kByFramePointer, kEnd, kIrregular };
  struct Rule {
    Kind kind = Kind::kByStackPointer;
    uint32_t words = 0;  // from there to the frame's end; 0 of kByStackPointer: nothing is known
    uint32_t saved = 0;  // words from the frame's end down to the caller's frame pointer; 0: it is in the register
    bool operator==(const Rule&) const = default;
  };
  static Kind kind_of(uint32_t rule) { return static_cast<Kind>(rule & ((1u << kKindBits) - 1)); }
  static uint32_t words_of(uint32_t rule) { return rule >> kKindBits & ((1u << kCountBits) - 1); }
  static uint32_t saved_of(uint32_t rule) { return rule >> (kKindBits + kCountBits); }
  static uint32_t bits_of(const Rule& rule) {
    return static_cast<uint32_t>(rule.kind) | rule.words << kKindBits | rule.saved << (kKindBits + kCountBits);
  }

  // What a walk shows of a frame.
  struct Frame {
    const StackFrame& callee;
    const StackFrame& caller;
    Address stack_end;
    os::ReadablePages& pages;

    static constexpr uint32_t kMostWords = (1u << kCountBits) - 1;
    Address end() const { return caller.stack_pointer; }
    bool is_sound() const {
      const Address bytes = end() - callee.stack_pointer;
      return end() > callee.stack_pointer && end() <= stack_end && is_aligned(bytes, sizeof(Address)) &&
             bytes <= kMostWords * sizeof(Address);
    }
    bool has_at(Address at, Address word, Address bits) const {
      return at >= callee.stack_pointer && at < end() && is_aligned(at, sizeof(Address)) && pages.reads(at) &&
             (word_at(at) & bits) == word;
    }
    bool has_saved(uint32_t saved) const {
      return saved != 0 ? has_at(end() - saved * sizeof(Address), caller.frame_pointer, ~Address{0})
                        : caller.frame_pointer == callee.frame_pointer;
    }
    Address record_of_callee() const { return callee.frame_pointer - kRecordBelow; }
    bool has_record() const {
      return has_at(record_of_callee(), caller.frame_pointer, ~Address{0}) &&
             has_at(record_of_callee() + sizeof(Address), caller.code, kCodeBits);
    }
    uint32_t words_from(Address at) const { return static_cast<uint32_t>((end() - at) / sizeof(Address)); }

    bool agrees_with(const Rule& rule) const {
      if (rule.words == 0 || !is_sound()) return false;
      const Address from = rule.kind == Kind::kByFramePointer ? record_of_callee() : callee.stack_pointer;
      return from + rule.words * sizeof(Address) == end() && has_saved(rule.saved);
    }

    // The rule does not hold.
    ACRE_COLD Rule rule_after(const Rule& rule) const {
      constexpr uint32_t kRecordWords = sizeof(FrameRecord) / sizeof(Address);
      if (!is_sound() || rule.kind == Kind::kByFramePointer) return {Kind::kIrregular};
      if (has_record()) {
        const uint32_t words = words_from(record_of_callee());
        // A record elsewhere than at the end is a copy, in a frame that was aligned.
        return {!kRecordsEndFrames || words == kRecordWords ? Kind::kByFramePointer : Kind::kIrregular, words, words};
      }
      const uint32_t words = words_from(callee.stack_pointer);
      const bool has_other_size = rule.words != 0 && rule.words != words;
      if (!kRecordsEndFrames || has_other_size || !has_at(end() - sizeof(Address), caller.code, kCodeBits)) {
        return {Kind::kIrregular};
      }
      if (rule.words == 0 && has_saved(0)) return {Kind::kByStackPointer, words, 0};
      // Farther from the end than the last place, which was a wrong one. The first word is the return address.
      for (uint32_t saved = larger(rule.saved, 1u) + 1; saved <= words; ++saved) {
        if (has_saved(saved)) return {Kind::kByStackPointer, words, saved};
      }
      return {Kind::kIrregular};
    }
  };

  // Of 48 bits, the highest ones of the word, with the set's number above the others.
  static constexpr uint64_t kFactor = kHashFactor >> (kWordBits - kCodeBitCount) | 1;
  static uint64_t hash_of(Address code) { return (code * kFactor) << (kWordBits - kCodeBitCount); }

  // 0: nothing is known.
  ACRE_ALWAYS_INLINE uint32_t find(Address code) const {
    if (ACRE_UNLIKELY(code >> kCodeBitCount != 0)) return 0;
    const uint64_t hash = hash_of(code);
    const uint64_t tag = hash << kSetBits;
    for (const auto& way : sets_[hash >> (kWordBits - kSetBits)].entry) {
      const uint64_t rule = way.load(std::memory_order_relaxed) ^ tag;
      if (rule >> kRuleBits == 0) return static_cast<uint32_t>(rule);
    }
    return 0;
  }
  Rule rule_of(Address code) const {
    const uint32_t rule = find(code);
    return {kind_of(rule), words_of(rule), saved_of(rule)};
  }

  void keep(Address code, const Rule& rule) {
    if (code >> kCodeBitCount != 0) return;
    const uint64_t hash = hash_of(code);
    const uint64_t tag = hash << kSetBits;
    Set& set = sets_[hash >> (kWordBits - kSetBits)];
    unsigned to = kWays;
    for (unsigned i = 0; i < kWays; ++i) {
      const uint64_t entry = set.entry[i].load(std::memory_order_relaxed);
      if (entry != 0 && (entry ^ tag) >> kRuleBits != 0) continue;
      if (entry != 0 || to == kWays) to = i;
      if (entry != 0) break;
    }
    if (to == kWays) to = turn_.fetch_add(1, std::memory_order_relaxed) % kWays;
    set.entry[to].store(tag | bits_of(rule), std::memory_order_relaxed);
    changes_.fetch_add(1, std::memory_order_release);
  }

  struct alignas(32) Set {
    std::atomic<uint64_t> entry[kWays];
  };
  Set sets_[size_t{1} << kSetBits];
  std::atomic<unsigned> turn_{0};
  std::atomic<uint32_t> changes_{0};
};

}  // namespace acre
