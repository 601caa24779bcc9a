// Captures of stacks (sample/capture.h): they are what the unwinder gives, or marked.
#include "sample/capture.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <thread>

#include "os/unwind.h"
#include "unwound.h"

extern "C" {
void __register_frame(void* table);
void __deregister_frame(void* table);
}

namespace acre {
namespace {

using test::take_both_ways;

class Captures : public test::WithUnwinder {};

thread_local test::Taken t_taken;

// With a frame pointer in each frame; of 1050 walks that are known the first 16 and another one are compared.
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
  capture::set_way(capture::Way::kKnownWalks);
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
  EXPECT_EQ(capture::way(), capture::Way::kKnownWalks);
  EXPECT_GT(capture::known(), 2000u);  // others have too many frames to be kept
}

void take_in_handler_and_outside(void* stack) {
  TEST_FRAME_POINTER;
  t_taken = {};
  take_from(5);
  EXPECT_EQ(t_taken.wrong, 0u);
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
}

// Walks through a signal's frame are not kept, nor are those on a stack that nobody knows the end of.
TEST_F(Captures, OnAStackForSignals) {
  alignas(16) static char far[256 << 10];
  take_in_handler_and_outside(far);
  // One that may lie where the thread's stack might be taken to reach.
  void* near = mmap(nullptr, sizeof far, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(near, MAP_FAILED);
  take_in_handler_and_outside(near);
  munmap(near, sizeof far);
  EXPECT_EQ(capture::way(), capture::Way::kKnownWalks);
}

// --- Where frame pointers end, and where tables do -----------------------------------------------------------------------

#if defined(__x86_64__)
// These call a function, and have another value in the frame pointer's register meanwhile. Their tables say so.
#define TEST_CALL_WITH(name, value)            \
  extern "C" void name(void (*function)());    \
  asm(".text\n.type " #name ", @function\n"    \
      #name ":\n"                              \
      ".cfi_startproc\n"                       \
      "push %rbp\n"                            \
      ".cfi_def_cfa_offset 16\n"               \
      ".cfi_offset %rbp, -16\n"                \
      "mov $" #value ", %ebp\n"                \
      "call *%rdi\n"                           \
      "pop %rbp\n"                             \
      ".cfi_def_cfa_offset 8\n"                \
      "ret\n"                                  \
      ".cfi_endproc\n"                         \
      ".size " #name ", .-" #name "\n")
TEST_CALL_WITH(test_call_with_other_use, 8);
TEST_CALL_WITH(test_call_without_frame_pointer, 0);

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
  test::take_as_allocating(g_taken);
  asm volatile("" : : : "memory");
}

// The frames further out have no frame pointer that could lead anywhere by chance.
const CodeWithoutTables* g_code;
void call_code() {
  TEST_FRAME_POINTER;
  g_code->call(take_to_see);
  asm volatile("" : : : "memory");
}

// How many frames there are from the code's on; 0: it is not among them.
ptrdiff_t frames_from(const CodeWithoutTables& code) {
  const Address* end = g_taken.address + g_taken.count;
  return end - std::find_if(std::cbegin(g_taken.address), end, [&](Address a) { return code.holds(a); });
}

// Of what lies beyond only that is known which frame pointers lead to. The stack says that there is more.
TEST_F(Captures, AStackThroughCodeWithoutTablesIsMarked) {
  for (const bool keeps : {true, false}) {
    const CodeWithoutTables code(keeps);
    g_code = &code;
    for (int i = 0; i < 3; ++i) {
      test_call_with_other_use(call_code);
      EXPECT_TRUE(g_taken.truncated);
      EXPECT_EQ(frames_from(code), keeps ? 3 : 1);
    }
  }
}

// Frame pointers lead to the outermost frame, whose own is null.
TEST_F(Captures, FramePointersLeadThroughCodeWithoutTables) {
  const CodeWithoutTables code(true);
  g_code = &code;
  test_call_without_frame_pointer(call_code);
  EXPECT_FALSE(g_taken.truncated);
  EXPECT_EQ(frames_from(code), 3);
}

// It may be the unwinder itself that allocates, with its lock held.
TEST_F(Captures, TheUnwinderIsNotAskedByItself) {
  test::get_heap();
  const void* caller = static_cast<const char*>(pointer_to(reinterpret_cast<Address>(test::unwinder().walk))) + 1;
  const KnownCaller known(heap_if_any(), caller);
  capture::Frames frames;
  capture::take(frames);
  EXPECT_TRUE(frames.truncated);
  ASSERT_EQ(frames.count, 1u);
  EXPECT_EQ(frames.address[0], address_of(caller));
}

// Before anybody has looked for an unwinder: by frame pointers, whatever these are.
TEST_F(Captures, WithoutAnUnwinder) {
  capture::set_way(capture::Way::kNoUnwinder);
  for (const bool keeps : {true, false}) {
    const CodeWithoutTables code(keeps);
    g_code = &code;
    test_call_with_other_use(call_code);
    EXPECT_TRUE(g_taken.truncated);
    EXPECT_EQ(frames_from(code), keeps ? 3 : 1);
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
    test::take_as_allocating(frames);
  }
  asm volatile("" : : : "memory");
}

// Registers' numbers in unwinding tables.
#if defined(__x86_64__)
constexpr uint8_t kStackPointer = 7, kReturnAddress = 16;
#elif defined(__riscv)
constexpr uint8_t kStackPointer = 2, kReturnAddress = 1;
#else
constexpr uint8_t kStackPointer = 31, kReturnAddress = 30;
#endif

// Tells libgcc, and nobody else, that liar() is where the stack ends.
struct Lie {
  Lie() {
    constexpr uint8_t kShared[] = {16, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, kReturnAddress,
                                   0x0c, kStackPointer, 8, 0, 0, 0, 0};
    static_assert(sizeof kShared == 20);
    memcpy(table, kShared, sizeof kShared);
    const uint32_t head[] = {24, 24};
    memcpy(table + 20, head, sizeof head);
    const uint64_t range[] = {address_of(reinterpret_cast<void*>(&liar)), 1024};
    memcpy(table + 28, range, sizeof range);
    constexpr uint8_t kOwn[] = {0x07, kReturnAddress, 0, 0};
    memcpy(table + 44, kOwn, sizeof kOwn);
    memset(table + 48, 0, 4);
    __register_frame(table);
  }
  ~Lie() { __deregister_frame(table); }

  static inline uint8_t table[52];
};

// From one place, so that the walks are known.
TEST_F(Captures, AreGivenUpForGoodWhenTheUnwinderSaysOtherwise) {
  for (const int before : {2, 100}) {  // one of the first that are compared, and one of the later ones
    capture::set_way(capture::Way::kKnownWalks);
    std::optional<Lie> lie;
    // Counted, without a pointer into this frame: where the frame pointer's register is free for other values, as on
    // RISC-V, a walk depends on such a pointer.
    for (unsigned round = 0; round < 3; ++round) {
      liar(round == 0 ? before : round == 1 ? 1024 : 200);
      EXPECT_EQ(capture::way(), round == 0 ? capture::Way::kKnownWalks : capture::Way::kUnwinder);
      round == 0 ? static_cast<void>(lie.emplace()) : lie.reset();
    }
  }
}

}  // namespace
}  // namespace acre
