// The last walk of a thread by known steps. The thread's next walk mostly comes to a frame that the last one had, too. What
// a walk finds is determined by the frame that it begins with and by the words that its steps read: as long as these words
// are the same, the frames are those of the last walk.
#pragma once

#include "base/frames.h"
#include "sample/known_steps.h"

namespace acre::capture {

class LastWalk {
 public:
  // Whether all words of the thread's stack from there on are readable.
  bool reads(const StackFrame& first, Address stack_end) { return own_stack_.reaches(first.stack_pointer, stack_end); }

  // Walks from `first`, after reads(). False: a step is not known, or there are more frames than fit.
  ACRE_ALWAYS_INLINE bool go(const StackFrame& first, Address stack_end, const KnownSteps& steps) {
    const uint32_t changes = steps.changes();
    unsigned kept = changes == changes_ && stack_end == stack_end_ ? count_ : 0;
    count_ = 0;
    Walked* fresh = walked_ + 2 * kMost;  // the new frames, from there down: first the innermost one
    StackFrame frame = first;
    for (;;) {
      while (kept != 0 && walked_[kept - 1].frame.stack_pointer < frame.stack_pointer) --kept;
      if (kept != 0 && walked_[kept - 1].frame == frame) {
        unsigned same = kept - 1;
        while (same != 0 && walked_[same].leads_to(walked_[same - 1].frame)) --same;
        if (same == 0) break;
        if (fresh - (walked_ + kMost) < static_cast<long>(kept - same)) return false;
        for (unsigned i = kept - 1; i > same; --i) *--fresh = walked_[i];
        frame = walked_[same].frame;  // it has another caller now
        kept = same;
      }
      if (fresh == walked_ + kMost) return false;
      *--fresh = {frame, {}, 0};
      const KnownSteps::Step step = steps.go(frame, stack_end, AllPages(), &fresh->read);
      if (step == KnownSteps::Step::kNone) return false;
      if (step == KnownSteps::Step::kTaken) continue;
      kept = 0;
      break;
    }
    const auto count = static_cast<unsigned>(walked_ + 2 * kMost - fresh);
    if (kept + count > kMost) return false;
    for (unsigned i = kept; i < kept + count; ++i, ++fresh) {
      walked_[i] = *fresh;
      walked_[i].hash = StackHash::step(i == 0 ? StackHash::kEmpty : walked_[i - 1].hash, fresh->frame.code);
    }
    count_ = kept + count;
    programs_ = count_;
    while (programs_ != 0 && os::is_own_code(walked_[programs_ - 1].frame.code)) --programs_;
    changes_ = changes;
    stack_end_ = stack_end;
    return programs_ != 0 && programs_ <= CapturedFrames::kMost;
  }

  // Of the frames that copy_to() gives, as StackHash::of().
  uint64_t hash() const { return walked_[programs_ - 1].hash; }

  // Frames without acre's own innermost ones.
  void copy_to(CapturedFrames& frames) const {
    frames.count = programs_;
    frames.truncated = false;
    for (unsigned i = 0; i < programs_; ++i) {
      const StackFrame& frame = walked_[programs_ - 1 - i].frame;
      frames.address[i] = frame.code;
      frames.depth[i] = static_cast<uint32_t>(frame.stack_pointer - frames.stack_pointer);
    }
  }

 private:
  static constexpr unsigned kMost = CapturedFrames::kMost + 16;  // with acre's own

  struct AllPages {
    static bool reads(Address) { return true; }
  };
  struct Walked {
    StackFrame frame;
    KnownSteps::Read read;  // by the step to the caller
    uint64_t hash;          // of this frame and those outside of it

    bool leads_to(const StackFrame& caller) const {
      return (word_at(read.code_at) & kCodeBits) == caller.code &&
             (read.saved_at == 0 || word_at(read.saved_at) == caller.frame_pointer);
    }
  };

  os::OwnStack own_stack_;
  unsigned count_ = 0;
  unsigned programs_ = 0;  // of them: without acre's innermost ones
  uint32_t changes_ = 0;   // KnownSteps::changes() before the walk
  Address stack_end_ = 0;
  Walked walked_[2 * kMost];  // the outermost frame first
};

}  // namespace acre::capture
