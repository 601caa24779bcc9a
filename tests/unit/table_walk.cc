// Walks up stacks by tables (sample/table_walk.h), and the choice between the ways of walking (sample/capture.h): what
// they give is what the unwinder gives.
#include "sample/table_walk.h"

#include <alloca.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "base/frames.h"
#include "os/unwind.h"
#include "sample/capture.h"
#include "support.h"

extern "C" {
void __register_frame(void* table);
void __deregister_frame(void* table);
}

namespace acre {
namespace {

using Step = TableWalk::Step;

const os::Unwinder& unwinder() {
  static const os::Unwinder found = os::find_unwinder();
  return found;
}

bool has_tables() {
  os::CodeObject object;
  return unwinder().walk != nullptr && os::find_object(address_of(reinterpret_cast<void*>(&has_tables)), &object);
}

struct Reference {
  unsigned count = 0;
  Address address[1000];
};
int note(os::UnwindContext* context, void* argument) {
  auto& all = *static_cast<Reference*>(argument);
  const Address code = unwinder().code(context);
  if (code == 0 || all.count == std::size(all.address)) return 1;
  all.address[all.count++] = code;
  return 0;
}

// --- Both ways ------------------------------------------------------------------------------------------------------

// One thread's walks.
struct Walks {
  explicit Walks(uint64_t seed) : random(seed) {}

  test::Random random;
  unsigned walks = 0;
  unsigned through_signals = 0;  // of them
  unsigned whole = 0;            // by tables alone
  unsigned wrong = 0;
  unsigned signals = 0;          // that this thread is in
};
thread_local Walks* t_walks;

// Up to where it knows no further.
__attribute__((noinline)) void walk_both_ways(Walks& walks) {
  const auto* own = static_cast<const FrameRecord*>(__builtin_frame_address(0));
  const StackFrame caller{own->return_address & kCodeBits, address_of(__builtin_dwarf_cfa()), own->caller};
  Reference reference;
  unwinder().walk(note, &reference);
  const Address* end = reference.address + reference.count;
  const auto* at = std::find(std::cbegin(reference.address), end, caller.code);
  TableWalk walk(caller, os::stack_end(caller.stack_pointer));
  Step step = Step::kToCaller;
  for (; step == Step::kToCaller && at != end && walk.frame().code == *at; ++at) step = walk.step();
  ++walks.walks;
  if (walks.signals != 0) ++walks.through_signals;
  if (step == Step::kToCaller || (step == Step::kAtEnd && at != end)) ++walks.wrong;
  if (step == Step::kAtEnd) ++walks.whole;
}

using Frame = void (*)(Walks& walks, unsigned depth);
void go_on(Walks& walks, unsigned depth);

__attribute__((noinline)) void by_plain_frame(Walks& walks, unsigned depth) {
  go_on(walks, depth);
  asm volatile("" : : : "memory");
}

// Registers are saved.
__attribute__((noinline)) void by_registers(Walks& walks, unsigned depth) {
  size_t a = walks.random.below(3), b = walks.random.below(2), c = depth, d = a ^ b, e = a + c;
  asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
  go_on(walks, depth);
  asm volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e));
}

// The frame pointer is needed.
__attribute__((noinline)) void by_frame_of_any_size(Walks& walks, unsigned depth) {
  auto* room = static_cast<volatile char*>(alloca(16 * (1 + walks.random.below(12))));
  room[0] = 1;
  go_on(walks, depth);
  room[0] = 0;
}

__attribute__((noinline)) void by_aligned_frame(Walks& walks, unsigned depth) {
  alignas(128) volatile char room[128];
  room[0] = static_cast<char>(depth);
  go_on(walks, depth);
  room[1] = room[0];
}

// Larger than a page.
__attribute__((noinline)) void by_large_frame(Walks& walks, unsigned depth) {
  char room[5000];
  asm volatile("" : "=m"(room));
  go_on(walks, depth);
  asm volatile("" : : "m"(room));
}

// Of the C library.
__attribute__((noinline)) void by_library(Walks& walks, unsigned depth) {
  static thread_local unsigned depth_of_one;
  depth_of_one = depth;
  int two[2] = {2, 1};
  qsort(two, 2, sizeof(int), [](const void* a, const void* b) {
    go_on(*t_walks, depth_of_one);
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  asm volatile("" : : "m"(walks));
}

__attribute__((noinline)) void by_exception(Walks& walks, unsigned depth) {
  try {
    go_on(walks, depth);
    if (walks.signals == 0 && walks.random.one_in(50)) throw depth;
  } catch (unsigned) {
    go_on(walks, depth);
  }
}

__attribute__((noinline)) void by_signal(Walks& walks, unsigned depth) {
  static thread_local unsigned depth_of_one;
  depth_of_one = depth;
  ++walks.signals;
  signal(SIGUSR1, [](int) { go_on(*t_walks, depth_of_one); });
  raise(SIGUSR1);
  --walks.signals;
}

void go_on(Walks& walks, unsigned depth) {
  static constexpr Frame kFrames[] = {by_plain_frame, by_registers, by_frame_of_any_size, by_aligned_frame,
                                      by_exception,   by_large_frame, by_library,         by_signal};
  if (depth == 0) return walk_both_ways(walks);
  const size_t frame = walks.random.below(100);
  kFrames[frame < 92 ? frame % 5 : 5 + frame % 3](walks, depth - 1);
  asm volatile("" : : : "memory");
}

void walk_at_random(Walks& walks, unsigned rounds) {
  t_walks = &walks;
  for (unsigned i = 0; i < rounds; ++i) go_on(walks, static_cast<unsigned>(walks.random.between(1, 9)));
}

class TableWalks : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_tables()) GTEST_SKIP() << "nothing finds tables here";
    capture::prepare();
  }
  void TearDown() override { capture::set_way(capture::Way::kFramePointers); }
};

// Through signals' frames it is the unwinder that goes.
TEST_F(TableWalks, GoTheUnwindersWayAndAllOfIt) {
  Walks walks(1);
  walk_at_random(walks, 5000);
  EXPECT_EQ(walks.wrong, 0u);
  EXPECT_GT(walks.through_signals, 100u);
  EXPECT_EQ(walks.whole, walks.walks - walks.through_signals);
}

TEST_F(TableWalks, InSeveralThreads) {
  std::vector<std::thread> threads;
  std::atomic<unsigned> wrong{0}, lost{0};
  for (unsigned i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      Walks walks(i);
      walk_at_random(walks, 1000);
      wrong += walks.wrong;
      lost += walks.walks - walks.through_signals - walks.whole;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_EQ(lost.load(), 0u);
}

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

// With a frame pointer in each frame; 70 captures, of which the first 16 and another one are compared.
__attribute__((noinline)) void take_from(unsigned depth) {
  TEST_FRAME_POINTER;
  if (depth != 0) {
    take_from(depth - 1);
  } else {
    for (int i = 0; i < 70; ++i) take_both_ways(t_taken);
  }
  asm volatile("" : : : "memory");
}

TEST_F(TableWalks, OfEveryDepth) {
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
TEST_F(TableWalks, OnAStackForSignals) {
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
TEST_F(TableWalks, AStackThatFramePointersCutShortIsTakenAsAWhole) {
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

constexpr capture::Way kWays[] = {capture::Way::kFramePointers, capture::Way::kTables, capture::Way::kUnwinder};

// What lies beyond is not known; the stack says that there is more.
TEST_F(TableWalks, AStackThatEndsInCodeWithoutTablesIsMarked) {
  const CodeWithoutTables code(false);
  for (const capture::Way way : kWays) {
    for (const auto take : {take_to_see, take_to_see_after_others}) {
      capture::set_way(way);
      code.call(take);
      EXPECT_TRUE(g_taken.truncated);
      EXPECT_TRUE(code.holds(g_taken.address[g_taken.count - 1]));
    }
  }
}

// Where it keeps a frame pointer that leads on, where the unwinder ends.
TEST_F(TableWalks, FramePointersLeadThroughCodeWithoutTables) {
  const CodeWithoutTables code(true);
  for (const capture::Way way : kWays) {
    for (const auto take : {take_to_see, take_to_see_after_others}) {
      capture::set_way(way);
      code.call(take);
      EXPECT_EQ(capture::way(), way);
      const bool leads_on = way == capture::Way::kFramePointers;
      EXPECT_EQ(g_taken.truncated, !leads_on);
      EXPECT_EQ(code.holds(g_taken.address[g_taken.count - 1]), !leads_on);
    }
  }
}

// Before anybody has looked for an unwinder: by tables, and beyond them by frame pointers, whatever these are.
TEST_F(TableWalks, WithoutAnUnwinder) {
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
TEST_F(TableWalks, WithoutAnUnwinderOnAStackOfTheProgramsOwn) {
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

TEST_F(TableWalks, AreGivenUpForGoodWhenTheUnwinderSaysOtherwise) {
  for (const int before : {0, 100}) {  // one of the first, and one of the later ones
    capture::set_way(capture::Way::kTables);
    liar(before);
    EXPECT_EQ(capture::way(), capture::Way::kTables);
    {
      const Lie lie;
      liar(64);
    }
    EXPECT_EQ(capture::way(), capture::Way::kUnwinder);
    liar(200);
    EXPECT_EQ(capture::way(), capture::Way::kUnwinder);
  }
}

// Frame pointers give way to tables, which are then compared from the first on.
TEST_F(TableWalks, FollowFramePointers) {
  capture::set_way(capture::Way::kFramePointers);
  const Lie lie;
  liar(1);
  EXPECT_EQ(capture::way(), capture::Way::kTables);
  liar(1);
  EXPECT_EQ(capture::way(), capture::Way::kUnwinder);
}

}  // namespace
}  // namespace acre
