// Steps from a frame to its caller's that are learned from the unwinder's (sample/known_steps.h).
#include "sample/known_steps.h"

#include <gtest/gtest.h>

#include <memory>

#include "support.h"

namespace acre {
namespace {

constexpr Address kCode = 0x7f1234567890, kCallers = 0x401234;

// Words that are taken for a stack.
class KnownStepsOf : public testing::Test {
 protected:
  static constexpr unsigned kWords = 64;

  KnownStepsOf() {
    for (unsigned i = 0; i < kWords; ++i) words_[i] = 0x1000 + i;
  }

  Address at(unsigned word) const { return address_of(words_ + word); }
  Address end() const { return at(kWords); }
  // The frame pointer of a record at this word.
  Address pointer(unsigned word) const { return at(word) + kRecordBelow; }
  // In front of a frame's end there are its return address and, before that, the caller's frame pointer.
  void make_record(unsigned word, Address frame_pointer, Address code = kCallers) {
    words_[word] = frame_pointer;
    words_[word + 1] = code;
  }

  void learn(const StackFrame& callee, const StackFrame& caller) {
    os::ReadablePages pages(at(0));
    steps_->learn(callee, caller, end(), pages);
  }
  KnownSteps::Step go(StackFrame& frame) {
    os::ReadablePages pages(at(0));
    return steps_->go(frame, end(), pages);
  }
  // Whether the step leads there.
  bool leads(StackFrame from, const StackFrame& to) {
    return go(from) == KnownSteps::Step::kTaken && from.code == to.code && from.stack_pointer == to.stack_pointer &&
           from.frame_pointer == to.frame_pointer;
  }
  bool is_unknown(StackFrame from) { return go(from) == KnownSteps::Step::kNone; }

  Address words_[kWords];
  const std::unique_ptr<KnownSteps> steps_ = std::make_unique<KnownSteps>();
};

TEST_F(KnownStepsOf, NoneAtFirst) {
  EXPECT_TRUE(is_unknown({kCode, at(0), pointer(2)}));
  EXPECT_TRUE(is_unknown({0, at(0), pointer(2)}));
  EXPECT_TRUE(is_unknown({~Address{0}, at(0), at(2)}));
}

TEST_F(KnownStepsOf, TheEnd) {
  StackFrame frame{kCode, at(0), 0};
  steps_->learn_end(frame);
  EXPECT_EQ(go(frame), KnownSteps::Step::kEnd);
  make_record(4, 0);
  learn(frame, {kCallers, at(6), 0});  // it was none
  EXPECT_TRUE(is_unknown(frame));
}

TEST_F(KnownStepsOf, ByTheFramePointerOfAFrameOfAnySize) {
  make_record(10, pointer(30));
  learn({kCode, at(2), pointer(10)}, {kCallers, at(12), pointer(30)});
  make_record(20, pointer(40));
  EXPECT_TRUE(leads({kCode, at(3), pointer(20)}, {kCallers, at(22), pointer(40)}));
  EXPECT_TRUE(leads({kCode, at(2), pointer(10)}, {kCallers, at(12), pointer(30)}));
  EXPECT_TRUE(is_unknown({kCode, at(12), pointer(10)}));       // below the frame
  EXPECT_TRUE(is_unknown({kCode, at(3), pointer(63)}));        // beyond the stack
  EXPECT_TRUE(is_unknown({kCode, at(3), pointer(20) + 1}));
  EXPECT_TRUE(is_unknown({kCode, at(3), ~Address{0}}));
  EXPECT_TRUE(is_unknown({kCode + 1, at(3), pointer(20)}));
}

#if defined(__x86_64__) || defined(__riscv)
TEST_F(KnownStepsOf, ByTheStackPointer) {
  words_[7] = kCallers;
  learn({kCode, at(2), 5}, {kCallers, at(8), 5});
  words_[17] = kCallers + 1;
  EXPECT_TRUE(leads({kCode, at(12), 6}, {kCallers + 1, at(18), 6}));
  EXPECT_TRUE(is_unknown({kCode, at(59), 6}));  // it would end beyond the stack
}

// The register has the same value in both frames at first, then a wrong word has the caller's.
TEST_F(KnownStepsOf, ASavedFramePointerIsFoundInTheEnd) {
  const StackFrame callee{kCode, at(2), 5}, caller{kCallers, at(10), 5};
  words_[9] = kCallers;
  words_[4] = 5;
  learn(callee, caller);
  EXPECT_TRUE(leads({kCode, at(2), 6}, {kCallers, at(10), 6}));
  words_[8] = words_[4] = 7;
  learn({kCode, at(2), 6}, {kCallers, at(10), 7});
  EXPECT_TRUE(leads({kCode, at(2), 6}, {kCallers, at(10), 7}));
  words_[8] = 1;
  words_[4] = 8;
  EXPECT_TRUE(leads({kCode, at(2), 6}, {kCallers, at(10), 1}));
  learn({kCode, at(2), 6}, {kCallers, at(10), 8});
  EXPECT_TRUE(leads({kCode, at(2), 6}, {kCallers, at(10), 8}));
}

TEST_F(KnownStepsOf, FramesOfDifferentSizesAreIrregular) {
  words_[7] = words_[9] = kCallers;
  learn({kCode, at(2), 5}, {kCallers, at(8), 5});
  learn({kCode, at(2), 5}, {kCallers, at(10), 5});
  EXPECT_TRUE(is_unknown({kCode, at(2), 5}));
  learn({kCode, at(2), 5}, {kCallers, at(8), 5});
  EXPECT_TRUE(is_unknown({kCode, at(2), 5}));
}

// A frame that was aligned has a copy of its record.
TEST_F(KnownStepsOf, ACopyOfARecordIsNoFramesEnd) {
  make_record(10, pointer(30));
  words_[17] = kCallers;
  learn({kCode, at(2), pointer(10)}, {kCallers, at(18), pointer(30)});
  EXPECT_TRUE(is_unknown({kCode, at(2), pointer(10)}));
}
#endif

TEST_F(KnownStepsOf, AnInterruptedCallerIsIrregular) {
  make_record(10, pointer(30));
  learn({kCode, at(2), pointer(10)}, {kCallers, at(12), pointer(30)});
  steps_->learn_irregular({kCode, at(2), pointer(10)});
  EXPECT_TRUE(is_unknown({kCode, at(2), pointer(10)}));
}

// More than there is room for: what is known is right.
TEST_F(KnownStepsOf, ManyPlaces) {
  constexpr unsigned kMany = 200000;
  test::Random random(1);
  const Address first = random.below(Address{1} << 46);
  unsigned known = 0;
  for (unsigned i = 0; i < kMany; ++i) {
    const unsigned record = 3 + i % 7;
    make_record(record, pointer(30));
    learn({first + i, at(2), pointer(record)}, {kCallers, at(record + 2), pointer(30)});
    EXPECT_TRUE(leads({first + i, at(2), pointer(record)}, {kCallers, at(record + 2), pointer(30)})) << i;
  }
  make_record(10, pointer(30));
  for (unsigned i = 0; i < kMany; ++i) known += leads({first + i, at(2), pointer(10)}, {kCallers, at(12), pointer(30)});
  EXPECT_GT(known, 40000u);
  EXPECT_LE(known, 65536u);
}

}  // namespace
}  // namespace acre
