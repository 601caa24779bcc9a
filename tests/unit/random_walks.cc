// Captures through frames of all kinds: they are what the unwinder gives, also where walks are known from before.
#include <alloca.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "sample/capture.h"
#include "support.h"
#include "unwound.h"

namespace acre {
namespace {

// One thread's walks.
struct Walks {
  explicit Walks(uint64_t seed) : random(seed) {}

  test::Random random;
  test::Taken taken;
  bool keeps_walk = false;
  unsigned through_signals = 0;  // of them
  unsigned signals = 0;          // that this thread is in
};
thread_local Walks* t_walks;

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
  if (depth == 0) {
    walks.through_signals += walks.signals != 0;
    return test::take_both_ways(walks.taken, walks.keeps_walk);
  }
  const size_t frame = walks.random.below(100);
  kFrames[frame < 92 ? frame % 5 : 5 + frame % 3](walks, depth - 1);
  asm volatile("" : : : "memory");
}

void walk_at_random(Walks& walks, unsigned rounds) {
  t_walks = &walks;
  for (unsigned i = 0; i < rounds; ++i) go_on(walks, static_cast<unsigned>(walks.random.between(1, 9)));
}

class RandomWalks : public test::WithUnwinder, public testing::WithParamInterface<bool> {};

TEST_P(RandomWalks, GoTheUnwindersWayAndAllOfIt) {
  Walks walks(1);
  walks.keeps_walk = GetParam();
  walk_at_random(walks, 5000);
  EXPECT_EQ(walks.taken.wrong, 0u);
  EXPECT_GT(walks.through_signals, 100u);
  EXPECT_GT(capture::known(), 200u);
  EXPECT_LE(capture::known(), walks.taken.captures - walks.through_signals);
  EXPECT_EQ(capture::way(), capture::Way::kKnownWalks);
}

TEST_P(RandomWalks, InSeveralThreads) {
#if defined(__riscv)
  GTEST_SKIP() << "glibc's start of a thread has no tables there: the unwinder stops before it, and no walk ends";
#endif
  std::vector<std::thread> threads;
  std::atomic<unsigned> wrong{0};
  for (unsigned i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      Walks walks(i);
      walks.keeps_walk = GetParam();
      walk_at_random(walks, 1000);
      wrong += walks.taken.wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_GT(capture::known(), 100u);
  EXPECT_EQ(capture::way(), capture::Way::kKnownWalks);
}

INSTANTIATE_TEST_SUITE_P(, RandomWalks, testing::Bool());

}  // namespace
}  // namespace acre
