// The last walk of a thread by known steps. The thread's next walk mostly comes to a frame that the last one had, too. What
// a walk finds is determined by the frame that it begins with and by the words that its steps read: as long as these words
// are the same, the frames are those of the last walk.
#pragma once

#include "base/frames.h"
#include "sample/known_steps.h"

namespace acre::capture {

class LastWalk {
 public:
  uint32_t uncounted = 0;  // walks, of capture.cc

  // Walks from `first`. False: not all of the stack can be read, a step is not known, or there are more frames than fit.
  ACRE_ALWAYS_INLINE bool go(const StackFrame& first, const KnownSteps& steps) {
    if (ACRE_UNLIKELY(!own_stack_.has(first.stack_pointer)) && !find_stack(first.stack_pointer)) return false;
    const uint32_t changes = steps.changes();
    Walked* kept = changes == changes_ ? last_ : walked_;
    Walked* const most_fresh = walked_ + kMost;
    Walked* fresh = walked_ + kRoom;  // the new frames, from there down: first the innermost one
    last_ = walked_;
    StackFrame frame = first;
    for (;;) {
      while (kept->frame.stack_pointer < frame.stack_pointer) --kept;
      if (kept->frame == frame) {
        Walked* same = kept;
        while (same->leads_to(same[-1].frame)) --same;
        if (same == walked_ + 1) break;
        if (fresh - most_fresh <= kept - same) return false;
        for (; kept != same; --kept) *--fresh = *kept;
        frame = same->frame;  // it has another caller now
        --kept;
      }
      if (ACRE_UNLIKELY(fresh == most_fresh)) return false;
      --fresh;
      fresh->frame = frame;
      const KnownSteps::Step step = steps.go(frame, own_stack_.end, AllPages(), &fresh->read);
      if (ACRE_LIKELY(step == KnownSteps::Step::kTaken)) continue;
      if (step == KnownSteps::Step::kNone) return false;
      fresh->read.code_at = address_of(&kNoCaller);
      kept = walked_;
      break;
    }
    if (ACRE_UNLIKELY(walked_ + kRoom - fresh > most_fresh - 1 - kept)) return false;
    for (; fresh != walked_ + kRoom; ++fresh) {
      const uint64_t outer = kept->hash;
      *++kept = *fresh;
      kept->hash = StackHash::step(outer, kept->frame.code);
    }
    last_ = kept;
    while (kept != walked_ && os::is_own_code(kept->frame.code)) --kept;
    programs_ = kept;
    changes_ = changes;
    return kept != walked_ && kept - walked_ <= CapturedFrames::kMost;
  }

  // Of the frames that copy_to() gives, as StackHash::of().
  uint64_t hash() const { return programs_->hash; }

  // Frames without acre's own innermost ones.
  void copy_to(CapturedFrames& frames) const {
    frames.count = static_cast<unsigned>(programs_ - walked_);
    frames.truncated = false;
    for (unsigned i = 0; i < frames.count; ++i) {
      const StackFrame& frame = programs_[-static_cast<int>(i)].frame;
      frames.address[i] = frame.code;
      frames.depth[i] = static_cast<uint32_t>(frame.stack_pointer - frames.stack_pointer);
    }
  }

 private:
  // With acre's own, and a place before the outermost frame.
  static constexpr size_t kMost = CapturedFrames::kMost + 16, kRoom = 2 * kMost;

  struct AllPages {
    static bool reads(Address) { return true; }
  };
  struct Walked {
    StackFrame frame;
    KnownSteps::Read read;  // by the step to the caller
    uint64_t hash = StackHash::kEmpty;  // of this frame and those outside of it

    bool leads_to(const StackFrame& caller) const {
      return (word_at(read.code_at) & kCodeBits) == caller.code &&
             (read.saved_at == 0 || word_at(read.saved_at) == caller.frame_pointer);
    }
  };

  ACRE_NOINLINE bool find_stack(Address stack_pointer) {
    last_ = walked_;
    const Address end = os::stack_end(stack_pointer);
    return end != 0 && own_stack_.reaches(stack_pointer, end);
  }

  // What the outermost frame reads, in place of a return address, and what that is compared with: it leads nowhere.
  static constexpr Address kNoCaller = 1;
  static constexpr StackFrame kOutside{0, ~Address{0}, 0};

  os::OwnStack own_stack_;
  Walked* last_ = walked_;      // the innermost frame; walked_: there is no walk
  Walked* programs_ = walked_;  // the innermost one that is not acre's
  uint32_t changes_ = 0;        // KnownSteps::changes() before the walk
  Walked walked_[kRoom] = {{kOutside, {}}};  // the outermost frame second
};

}  // namespace acre::capture
