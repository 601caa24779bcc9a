// Walks up stacks by tables (sample/table_walk.h): what they give is what the unwinder gives.
#include "sample/table_walk.h"

#include <alloca.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "base/frames.h"
#include "os/unwind.h"
#include "support.h"
#include "unwound.h"

namespace acre {
namespace {

using test::note;
using test::Reference;
using test::unwinder;
using Step = TableWalk::Step;

// --- Both ways ------------------------------------------------------------------------------------------------------

// One thread's walks.
struct Walks {
  explicit Walks(uint64_t seed) : random(seed) {}

  test::Random random;
  unsigned walks = 0;
  unsigned through_signals = 0;  // of them
  unsigned whole = 0;            // by tables alone
  unsigned known = 0;            // from an earlier one
  unsigned wrong = 0;
  unsigned signals = 0;          // that this thread is in
};
thread_local Walks* t_walks;

KnownWalks& known_walks() {
  static const auto walks = std::make_unique<KnownWalks>();
  return *walks;
}

// The last of them may say that there are no more.
bool are_codes_from(const Address* at, const Address* end, const KnownWalks::Codes& codes) {
  const unsigned count = codes.count - (codes.count != 0 && codes.code[codes.count - 1] == 0);
  return static_cast<size_t>(end - at) == count && std::equal(at, end, codes.code);
}

// Up to where it knows no further.
__attribute__((noinline)) void walk_both_ways(Walks& walks) {
  const auto* own = static_cast<const FrameRecord*>(__builtin_frame_address(0));
  const StackFrame caller{own->return_address & kCodeBits, address_of(__builtin_dwarf_cfa()), own->caller};
  Reference reference;
  unwinder().walk(note, &reference);
  const Address* end = reference.address + reference.count;
  const auto* at = std::find(std::cbegin(reference.address), end, caller.code);
  const Address stack_end = os::stack_end(caller.stack_pointer);
  TableWalk walk(caller, stack_end);
  Step step = Step::kToCaller;
  ++walks.walks;
  KnownWalks::Codes codes;
  if (at != end && known_walks().find(caller, stack_end, &codes)) {
    ++walks.known;
    if (!are_codes_from(at + 1, end, codes)) ++walks.wrong;
  }
  for (; step == Step::kToCaller && at != end && walk.frame().code == *at; ++at) step = walk.step();
  if (step == Step::kAtEnd) known_walks().keep(caller, stack_end, walk.trail());
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

class TableWalks : public test::WithTables {};

// Through signals' frames it is the unwinder that goes.
TEST_F(TableWalks, GoTheUnwindersWayAndAllOfIt) {
  Walks walks(1);
  walk_at_random(walks, 5000);
  EXPECT_EQ(walks.wrong, 0u);
  EXPECT_GT(walks.through_signals, 100u);
  EXPECT_EQ(walks.whole, walks.walks - walks.through_signals);
  EXPECT_GT(walks.known, 500u);
  EXPECT_LT(walks.known, walks.whole);
}

TEST_F(TableWalks, InSeveralThreads) {
  std::vector<std::thread> threads;
  std::atomic<unsigned> wrong{0}, lost{0}, known{0};
  for (unsigned i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      Walks walks(i);
      walk_at_random(walks, 1000);
      wrong += walks.wrong;
      lost += walks.walks - walks.through_signals - walks.whole;
      known += walks.known;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_EQ(lost.load(), 0u);
  EXPECT_GT(known.load(), 100u);
}

}  // namespace
}  // namespace acre
