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

  // Goes from the frame to its caller's. kNone: it is not known how. kEnd: there is no caller. Reads words of the frame
  // below the stack's end, and only in readable pages.
  Step go(StackFrame& frame, Address stack_end, os::ReadablePages& pages) const {
    const Rule rule = find(frame.code);
    if (rule.kind == Kind::kEnd) return Step::kEnd;
    if (rule.kind == Kind::kIrregular || rule.words == 0) return Step::kNone;
    const Address from = rule.kind == Kind::kByFramePointer ? frame.frame_pointer : frame.stack_pointer;
    const Address end = from + rule.words * sizeof(Address);
    const bool is_inside = from >= frame.stack_pointer && from < end && end <= stack_end;
    if (!is_inside || !is_aligned(end, sizeof(Address))) return Step::kNone;
    const Address code_at = kRecordsEndFrames ? end - sizeof(Address) : from + sizeof(Address);
    if (code_at < frame.stack_pointer || !pages.reads(code_at)) return Step::kNone;
    if (rule.saved != 0) {
      const Address saved_at = end - rule.saved * sizeof(Address);
      if (saved_at < frame.stack_pointer || saved_at > end || !pages.reads(saved_at)) return Step::kNone;
      frame.frame_pointer = word_at(saved_at);
    }
    frame.code = word_at(code_at) & kCodeBits;
    frame.stack_pointer = end;
    return Step::kTaken;
  }

  // The unwinder has gone from `callee` to `caller`.
  void learn(const StackFrame& callee, const StackFrame& caller, Address stack_end, os::ReadablePages& pages) {
    Rule rule = find(callee.code);
    if (rule.kind == Kind::kIrregular) return;
    const Frame frame{callee, caller, stack_end, pages};
    const Rule before = rule;
    if (!frame.agrees_with(rule)) rule = rule.kind == Kind::kEnd ? Rule{Kind::kIrregular} : frame.rule_after(rule);
    if (!(rule == before)) keep(callee.code, rule);
  }
  // The unwinder has found no caller.
  void learn_end(const StackFrame& last) {
    const Rule rule = find(last.code);
    if (rule.kind == Kind::kEnd || rule.kind == Kind::kIrregular) return;
    keep(last.code, {rule.words == 0 ? Kind::kEnd : Kind::kIrregular});
  }
  // The caller is none by a return address: a signal interrupted it.
  void learn_irregular(const StackFrame& callee) {
    if (find(callee.code).kind != Kind::kIrregular) keep(callee.code, {Kind::kIrregular});
  }

 private:
  static constexpr unsigned kCodeBitCount = 48, kSetBits = 14, kTagBits = kCodeBitCount - kSetBits;
  static constexpr unsigned kKindBits = 2, kCountBits = 14;
  static_assert(kTagBits + kKindBits + 2 * kCountBits == 64);
  static constexpr unsigned kWays = 4;

  enum class Kind : uint8_t { kByStackPointer, kByFramePointer, kEnd, kIrregular };
  struct Rule {
    Kind kind = Kind::kByStackPointer;
    uint32_t words = 0;  // from there to the frame's end; 0 of kByStackPointer: nothing is known
    uint32_t saved = 0;  // words from the frame's end down to the caller's frame pointer; 0: it is in the register
    bool operator==(const Rule&) const = default;
  };

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
    bool has_record() const {
      return has_at(callee.frame_pointer, caller.frame_pointer, ~Address{0}) &&
             has_at(callee.frame_pointer + sizeof(Address), caller.code, kCodeBits);
    }
    uint32_t words_from(Address at) const { return static_cast<uint32_t>((end() - at) / sizeof(Address)); }

    bool agrees_with(const Rule& rule) const {
      if (rule.words == 0 || !is_sound()) return false;
      const Address from = rule.kind == Kind::kByFramePointer ? callee.frame_pointer : callee.stack_pointer;
      return from + rule.words * sizeof(Address) == end() && has_saved(rule.saved);
    }

    // The rule does not hold.
    Rule rule_after(const Rule& rule) const {
      constexpr uint32_t kRecordWords = sizeof(FrameRecord) / sizeof(Address);
      if (!is_sound() || rule.kind == Kind::kByFramePointer) return {Kind::kIrregular};
      if (has_record()) {
        const uint32_t words = words_from(callee.frame_pointer);
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

  static uint64_t hash_of(Address code) { return (code * kHashFactor) & ((uint64_t{1} << kCodeBitCount) - 1); }
  static bool has_tag(uint64_t entry, uint64_t hash) { return ((entry ^ hash) & ((uint64_t{1} << kTagBits) - 1)) == 0; }

  Rule find(Address code) const {
    if (ACRE_UNLIKELY(code >> kCodeBitCount != 0)) return {};
    const uint64_t hash = hash_of(code);
    const Set& set = sets_[hash >> kTagBits];
    for (const auto& way : set.entry) {
      const uint64_t entry = way.load(std::memory_order_relaxed);
      if (entry == 0 || !has_tag(entry, hash)) continue;
      const uint64_t rule = entry >> kTagBits;
      constexpr uint32_t kCountMask = (1u << kCountBits) - 1;
      return {static_cast<Kind>(rule & 3), static_cast<uint32_t>(rule >> kKindBits) & kCountMask,
              static_cast<uint32_t>(rule >> (kKindBits + kCountBits))};
    }
    return {};
  }

  void keep(Address code, const Rule& rule) {
    if (code >> kCodeBitCount != 0) return;
    const uint64_t hash = hash_of(code);
    Set& set = sets_[hash >> kTagBits];
    unsigned to = kWays;
    for (unsigned i = 0; i < kWays; ++i) {
      const uint64_t entry = set.entry[i].load(std::memory_order_relaxed);
      if (entry != 0 && !has_tag(entry, hash)) continue;
      if (entry != 0 || to == kWays) to = i;
      if (entry != 0) break;
    }
    if (to == kWays) to = turn_.fetch_add(1, std::memory_order_relaxed) % kWays;
    const uint64_t bits = static_cast<uint64_t>(rule.kind) | static_cast<uint64_t>(rule.words) << kKindBits |
                          static_cast<uint64_t>(rule.saved) << (kKindBits + kCountBits);
    set.entry[to].store((hash & ((uint64_t{1} << kTagBits) - 1)) | bits << kTagBits, std::memory_order_relaxed);
  }

  struct alignas(32) Set {
    std::atomic<uint64_t> entry[kWays];
  };
  Set sets_[size_t{1} << kSetBits];
  std::atomic<unsigned> turn_{0};
};

}  // namespace acre
