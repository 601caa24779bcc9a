// The choice between the ways of walking up a stack (sample/capture.h): what they give is what the unwinder gives, or is
// marked.
#include "sample/capture.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <thread>

#include "base/frames.h"
#include "os/unwind.h"
#include "unwound.h"

extern "C" {
void __register_frame(void* table);
void __deregister_frame(void* table);
}

namespace acre {
namespace {

using test::note;
using test::Reference;
using test::unwinder;

class Captures : public test::WithTables {};

// --- Captures ---------------------------------------------------------------------------------------------------

// What makes a function keep a frame pointer.
#define TEST_FRAME_POINTER asm volatile("" : : "r"(__builtin_frame_address(0)) : "memory")

struct Taken {
  unsigned frames = 0;
  unsigned wrong = 0;
};
thread_local Taken t_taken;

// Whether take() gives what the unwinder gives.
__attribute__((noinline)) void take_both_ways(Taken& to) {
  TEST_FRAME_POINTER;
  capture::Frames taken;
  capture::take(taken);
  Reference reference;
  unwinder().walk(note, &reference);
  // Both begin with this function, at two places in it.
  const Address* end = reference.address + reference.count;
  const Address code = address_of(__builtin_return_address(0)) & kCodeBits;
  const auto* caller = std::find(std::cbegin(reference.address), end, code);
  const auto all = static_cast<unsigned>(end - caller) + 1;
  const unsigned count = std::min(all, capture::kMostFrames);
  const bool is_right = taken.truncated == (all > count) &&
                        taken.count == count &&
                        memcmp(taken.address + 1, caller, (taken.count - 1) * sizeof(Address)) == 0;
  to.frames = taken.count;
  if (!is_right) ++to.wrong;
}

// With a frame pointer in each frame; 1050 captures, of which the first 16 and another one are compared.
__attribute__((noinline)) void take_from(unsigned depth) {
  TEST_FRAME_POINTER;
  if (depth != 0) {
    take_from(depth - 1);
  } else {
    for (int i = 0; i < 1050; ++i) take_both_ways(t_taken);
  }
  asm volatile("" : : : "memory");
}

TEST_F(Captures, OfEveryDepth) {
  capture::set_way(capture::Way::kTables);
  t_taken = {};
  unsigned before = 0;
  for (unsigned depth : {0u, 1u, 50u}) {
    take_from(depth);
    EXPECT_EQ(t_taken.wrong, 0u) << depth;
    EXPECT_GT(t_taken.frames, before);
    before = t_taken.frames;
  }
  for (unsigned depth = capture::kMostFrames - 30; depth < capture::kMostFrames + 3; ++depth) {
    take_from(depth);
    EXPECT_EQ(t_taken.wrong, 0u) << depth;
  }
  EXPECT_EQ(t_taken.frames, capture::kMostFrames);
  EXPECT_EQ(capture::way(), capture::Way::kTables);
}

// On a stack that nobody knows the end of, the unwinder goes, whichever way was found to be right before.
void* take_in_handler_and_outside(void* stack) {
  TEST_FRAME_POINTER;
  t_taken = {};
  take_from(5);
  EXPECT_EQ(t_taken.wrong, 0u);
  // Some emulators put all stacks and the program side by side.
  if (capture::way() == capture::Way::kFramePointers && os::stack_end(address_of(stack)) != 0) return nullptr;
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = size_t{256} << 10;
  EXPECT_EQ(sigaltstack(&alternate, nullptr), 0);
  struct sigaction action = {};
  action.sa_flags = SA_ONSTACK;
  action.sa_handler = [](int) { take_from(5); };
  sigaction(SIGUSR2, &action, nullptr);
  const unsigned before = t_taken.frames;
  raise(SIGUSR2);
  EXPECT_EQ(t_taken.wrong, 0u);
  EXPECT_GT(t_taken.frames, before);
  alternate.ss_flags = SS_DISABLE;
  sigaltstack(&alternate, nullptr);
  return nullptr;
}

// A thread without frames of others that might lack frame pointers.
TEST_F(Captures, OnAStackForSignals) {
  alignas(16) static char far[256 << 10];
  for (const capture::Way way : {capture::Way::kTables, capture::Way::kFramePointers}) {
    capture::set_way(way);
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, take_in_handler_and_outside, far), 0);
    pthread_join(thread, nullptr);
    EXPECT_EQ(capture::way(), way);
  }
  // One that may lie where the thread's stack might be taken to reach.
  void* near = mmap(nullptr, sizeof far, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(near, MAP_FAILED);
  capture::set_way(capture::Way::kTables);
  take_in_handler_and_outside(near);
  munmap(near, sizeof far);
  EXPECT_EQ(capture::way(), capture::Way::kTables);
}

// --- Where frame pointers end, and where tables do -----------------------------------------------------------------------

#if defined(__x86_64__)
// Calls a function, and uses the frame pointer's register for something else meanwhile. Its table says so.
extern "C" void test_call_with_other_use(void (*function)());
asm(R"(
  .text
  .type test_call_with_other_use, @function
test_call_with_other_use:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  mov $8, %ebp
  call *%rdi
  pop %rbp
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
  .size test_call_with_other_use, .-test_call_with_other_use
)");

void take_once() {
  TEST_FRAME_POINTER;
  take_both_ways(t_taken);
  asm volatile("" : : : "memory");
}

// In a thread without frames of others that might lack frame pointers. Not one of the captures that are compared anyway.
TEST_F(Captures, AStackThatFramePointersCutShortIsTakenAsAWhole) {
  capture::set_way(capture::Way::kFramePointers);
  std::thread([] {
    t_taken = {};
    take_from(5);
    test_call_with_other_use(take_once);
    EXPECT_EQ(t_taken.wrong, 0u);
    EXPECT_EQ(capture::way(), capture::Way::kFramePointers);
  }).join();
}

// Code without tables, made at run time: `push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret`, or with another value in
// the register.
class CodeWithoutTables {
 public:
  explicit CodeWithoutTables(bool keeps_frame_pointer) {
    constexpr uint8_t kKeeps[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    constexpr uint8_t kUses[] = {0x55, 0x6a, 0x78, 0x5d, 0xff, 0xd7, 0x5d, 0xc3};
    memory_ = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code(), keeps_frame_pointer ? kKeeps : kUses, sizeof kKeeps);
  }
  ~CodeWithoutTables() { munmap(memory_, kPageBytes); }
  void call(void (*function)()) const { reinterpret_cast<void (*)(void (*)())>(code())(function); }
  bool holds(Address code) const { return code - address_of(memory_) < kPageBytes; }

 private:
  // A sanitizer reads what lies before a function, to see its type.
  void* code() const { return static_cast<char*>(memory_) + 64; }

  void* memory_;
};

capture::Frames g_taken;
void take_to_see() {
  TEST_FRAME_POINTER;
  capture::take(g_taken);
  asm volatile("" : : : "memory");
}
void take_to_see_after_others() {
  TEST_FRAME_POINTER;
  for (int i = 0; i < 20; ++i) capture::take(g_taken);
  asm volatile("" : : : "memory");
}

// The frames further out have no frame pointer that could lead anywhere by chance.
const CodeWithoutTables* g_code;
void (*g_take)();
void call_code() {
  TEST_FRAME_POINTER;
  g_code->call(g_take);
  asm volatile("" : : : "memory");
}

// Takes a stack through this code in each way, among the first captures, which are compared, and after these.
template <class Check>
void take_in_each_way(const CodeWithoutTables& code, Check check) {
  for (const capture::Way way : {capture::Way::kFramePointers, capture::Way::kTables, capture::Way::kUnwinder}) {
    for (const auto take : {take_to_see, take_to_see_after_others}) {
      capture::set_way(way);
      g_code = &code;
      g_take = take;
      test_call_with_other_use(call_code);
      check(way, code.holds(g_taken.address[g_taken.count - 1]));
    }
  }
}

// What lies beyond is not known; the stack says that there is more.
TEST_F(Captures, AStackThatEndsInCodeWithoutTablesIsMarked) {
  take_in_each_way(CodeWithoutTables(false), [](capture::Way, bool ends_there) {
    EXPECT_TRUE(g_taken.truncated);
    EXPECT_TRUE(ends_there);
  });
}

// Where it keeps a frame pointer that leads on, where the unwinder ends.
TEST_F(Captures, FramePointersLeadThroughCodeWithoutTables) {
  take_in_each_way(CodeWithoutTables(true), [](capture::Way way, bool ends_there) {
    EXPECT_EQ(capture::way(), way);
    const bool leads_on = way == capture::Way::kFramePointers;
    EXPECT_EQ(g_taken.truncated, !leads_on);
    EXPECT_EQ(ends_there, !leads_on);
  });
}

// Before anybody has looked for an unwinder: by tables, and beyond them by frame pointers, whatever these are.
TEST_F(Captures, WithoutAnUnwinder) {
  capture::set_way(capture::Way::kNoUnwinder);
  t_taken = {};
  take_once();
  EXPECT_EQ(t_taken.wrong, 0u);
  for (const bool keeps : {true, false}) {
    const CodeWithoutTables code(keeps);
    code.call(take_to_see);
    const Address* end = g_taken.address + g_taken.count;
    const Address* at = std::find_if(std::cbegin(g_taken.address), end, [&](Address a) { return code.holds(a); });
    ASSERT_NE(at, end);
    if (keeps) continue;
    EXPECT_EQ(at + 1, end);
    EXPECT_TRUE(g_taken.truncated);
  }
}

// A thread on a stack that is a variable's.
TEST_F(Captures, WithoutAnUnwinderOnAStackOfTheProgramsOwn) {
  capture::set_way(capture::Way::kNoUnwinder);
  alignas(16) static char stack[256 << 10];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, sizeof stack);
  pthread_t thread;
  auto body = [](void*) -> void* {
    const CodeWithoutTables code(false);
    code.call(take_to_see);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, body, nullptr), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_TRUE(g_taken.truncated);
  EXPECT_GE(g_taken.count, 2u);
}
#endif

// --- Trust --------------------------------------------------------------------------------------------------------

__attribute__((noinline)) void liar(int captures) {
  TEST_FRAME_POINTER;
  for (int i = 0; i < captures; ++i) {
    capture::Frames frames;
    capture::take(frames);
  }
  asm volatile("" : : : "memory");
}

// Tells libgcc, and nobody else, that liar() is where the stack ends.
struct Lie {
  Lie() {
    constexpr uint8_t kShared[] = {16, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, kReturnAddress,
                                   0x0c, kStackPointer, 8, 0, 0, 0, 0};
    static_assert(sizeof kShared == 20);
    memcpy(table, kShared, sizeof kShared);
    const uint32_t head[] = {24, 24};
    memcpy(table + 20, head, sizeof head);
    const uint64_t range[] = {address_of(reinterpret_cast<void*>(&liar)), 256};
    memcpy(table + 28, range, sizeof range);
    constexpr uint8_t kOwn[] = {0x07, kReturnAddress, 0, 0};
    memcpy(table + 44, kOwn, sizeof kOwn);
    memset(table + 48, 0, 4);
    __register_frame(table);
  }
  ~Lie() { __deregister_frame(table); }

  static inline uint8_t table[52];
};

TEST_F(Captures, AreGivenUpForGoodWhenTheUnwinderSaysOtherwise) {
  for (const int before : {0, 100}) {  // one of the first, and one of the later ones
    capture::set_way(capture::Way::kTables);
    liar(before);
    EXPECT_EQ(capture::way(), capture::Way::kTables);
    {
      const Lie lie;
      liar(1024);
    }
    EXPECT_EQ(capture::way(), capture::Way::kUnwinder);
    liar(200);
    EXPECT_EQ(capture::way(), capture::Way::kUnwinder);
  }
}

// Frame pointers give way to tables, which are then compared from the first on.
TEST_F(Captures, FollowFramePointers) {
  capture::set_way(capture::Way::kFramePointers);
  const Lie lie;
  liar(1);
  EXPECT_EQ(capture::way(), capture::Way::kTables);
  liar(1);
  EXPECT_EQ(capture::way(), capture::Way::kUnwinder);
}

}  // namespace
}  // namespace acre
